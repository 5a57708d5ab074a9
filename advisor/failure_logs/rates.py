"""Failures over time at risk, with exact intervals. Pure.

r failures in T seconds at a constant rate x: r is Poisson with mean x T, and

    x_low  = chi2(0.025; 2 r) / 2 T      x_high = chi2(0.975; 2 r + 2) / 2 T

(F. Garwood, Biometrika 28, 1936). Where the observation ends with the r-th failure, 2 x T itself
is chi2 with 2 r degrees, and both limits have 2 r (B. Epstein and M. Sobel, JASA 48, 1953).
chi2(p; 2 a) is twice the inverse of the incomplete gamma function with shape a. Limits: failures
independent of each other, at a rate that does not change; bursts make the interval too narrow
(gaps.py says).
"""

from dataclasses import dataclass

from scipy.special import betaincinv, gammaincc, gammaincinv

_TAIL = 0.025
_ONE_SIDED = 0.95


@dataclass(frozen=True, slots=True)
class Mtbf:
    """The mean time between failures with its 95 % interval, all in seconds."""

    failures: int
    at_risk_s: float
    mtbf_s: float | None
    """None without a failure: the log then only gives a bound."""
    low_s: float
    """Without a failure a one-sided bound: at 95 % confidence the MTBF is at least this."""
    high_s: float | None
    """None without a failure."""


def mtbf(failures: int, at_risk_s: float, *, ends_at_failure: bool = False) -> Mtbf:
    """The estimate; `at_risk_s` must be above 0. `ends_at_failure`: the last one ended it."""
    assert failures >= 0
    assert at_risk_s > 0.0
    if failures == 0:
        return Mtbf(0, at_risk_s, None, at_risk_s / float(gammaincinv(1, _ONE_SIDED)), None)
    most = failures if ends_at_failure else failures + 1
    return Mtbf(
        failures,
        at_risk_s,
        at_risk_s / failures,
        at_risk_s / float(gammaincinv(most, 1.0 - _TAIL)),
        at_risk_s / float(gammaincinv(failures, _TAIL)),
    )


def share_interval(part: int, whole: int) -> tuple[float, float]:
    """95 % interval of a share, both limits fractions (C. Clopper and E. Pearson, 1934)."""
    assert 0 <= part <= whole
    low = 0.0 if part == 0 else float(betaincinv(part, whole - part + 1, _TAIL))
    high = 1.0 if part == whole else float(betaincinv(part + 1, whole - part, 1.0 - _TAIL))
    return low, high


def fewer_chance(failures: int, expected: float) -> float:
    """The probability of fewer than so many failures where `expected` are."""
    return float(gammaincc(failures, expected)) if failures > 0 else 0.0
