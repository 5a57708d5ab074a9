"""How two measured numbers differ, and whether by more than chance. Pure.

symbol    name here        unit             meaning
a, b      baseline, other  of the quantity  two means of independent runs
s_a, s_b  standard_error   of the quantity  how far each may be off
v_a, v_b  degrees          1                degrees of freedom of s_a and s_b
r         ratio            1                b / a

The difference may be chance where |b - a| <= t sqrt(s_a^2 + s_b^2), with t = t_0.975,v and v by
Satterthwaite: (s_a^2 + s_b^2)^2 / (s_a^4 / v_a + s_b^4 / v_b) (Welch 1947). The interval of the
ratio holds every rho with (b - rho a)^2 <= t^2 (s_b^2 + rho^2 s_a^2) (Fieller 1954):

    (r +- (t / a) sqrt((1 - g) s_b^2 + r^2 s_a^2)) / (1 - g),    g = (t s_a / a)^2

so it holds 1 exactly where the difference may be chance. From g = 1 on, a cannot be told from 0 and
there is no such interval.
"""

from dataclasses import dataclass
from math import inf, sqrt

from scipy.special import stdtrit

_MANY = 1e6
"""So many degrees of freedom are as good as infinitely many."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A mean; how far it may be off is None where nothing says it, and `why` not."""

    value: float
    standard_error: float | None
    degrees: float = inf
    why: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """`ratio` is other / baseline, `low` to `high` its 95 % interval.

    None where there is none: no ratio without two numbers above 0, no interval and no verdict where
    nothing says how far one of them may be off. `why` says which of them is missing, and why.
    """

    ratio: float | None
    low: float | None
    high: float | None
    is_more_than_chance: bool | None
    why: str = ""


def difference(baseline: Uncertain, other: Uncertain) -> Difference:
    """How `other` differs from the baseline; both in one unit."""
    a, b = baseline.value, other.value
    has_ratio = a > 0.0 and b > 0.0
    ratio = b / a if has_ratio else None
    if baseline.standard_error is None or other.standard_error is None:
        why = "; ".join(dict.fromkeys(filter(None, (baseline.why, other.why))))
        return Difference(ratio, None, None, None, why)
    s_a, s_b = baseline.standard_error, other.standard_error
    t = _quantile(s_a, baseline.degrees, s_b, other.degrees)
    more = abs(b - a) > t * sqrt(s_a**2 + s_b**2)
    if ratio is None:
        return Difference(None, None, None, more, "no ratio: a number is not above 0")
    g = (t * s_a / a) ** 2
    if g >= 1.0:
        why = "no interval: the baseline cannot be told from 0"
        return Difference(ratio, None, None, more, why)
    half = t / a * sqrt((1.0 - g) * s_b**2 + (ratio * s_a) ** 2)
    return Difference(ratio, (ratio - half) / (1.0 - g), (ratio + half) / (1.0 - g), more)


def _quantile(s_a: float, v_a: float, s_b: float, v_b: float) -> float:
    """t_0.975 at the degrees of freedom of the difference."""
    inverse = s_a**4 / v_a + s_b**4 / v_b
    degrees = (s_a**2 + s_b**2) ** 2 / inverse if inverse > 0.0 else inf
    return float(stdtrit(min(degrees, _MANY), 0.975))
