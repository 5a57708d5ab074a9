"""Stretches of a job and how each ends: the algebra that the expected time is made of. Pure.

A stretch is begun, and ends in one of three ways: it is passed, a failure stops the job, or a
monitor finds the state wrong. Failures that stop the job are Poisson, at one rate whatever the job
does; so a stretch takes P(stopped) / rate in the mean, however it is made up: no time is added up.

symbol  name here      unit  meaning
L       rate_per_s     1/s   failures of all classes that stop the job
G       spent_s        s     1 / L + expected time from a failure until the job has recovered
mu      hazard         1     expected number of wrong states in a stretch that a check would find

Formulas, with their derivation: docs/failure_classes.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from advisor.completion_time import Real

Flag: TypeAlias = bool | NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Stop:
    """Failures of one class that stop the job: rate (1/s), time to detect and to recover (s)."""

    rate_per_s: Real
    detection_s: Real
    recovery_s: Real


@dataclass(frozen=True, slots=True)
class Stops:
    """All of them together, as the formulas need them."""

    rate_per_s: Real
    spent_s: Real

    def recovered_s(self, recovery_s: Real) -> Real:
        """Expected time of a recovery that nothing precedes, failures in it included."""
        with np.errstate(invalid="ignore"):
            return -np.expm1(-self.rate_per_s * np.asarray(recovery_s)) * self.spent_s

    def run(self, length_s: Real) -> "Stretch":
        """Any seconds of the job: work, checks or a save."""
        exposure = self.rate_per_s * np.asarray(length_s)
        return Stretch(np.exp(-exposure), -np.expm1(-exposure), np.zeros_like(exposure))


def stops_of(classes: Sequence[Stop]) -> Stops:
    """Failures of several classes. A failure while another is not yet detected is detected with it;
    one that strikes a recovery is detected, and its own recovery begins.

    B_c = T_c + (1 - e^(-L R_c)) (1 / L + sum p_c B_c);  G = 1 / L + sum p_c B_c, p_c = L_c / L
    """
    rate = sum((np.asarray(each.rate_per_s, dtype=np.float64) for each in classes), np.float64(0))
    found_s = sum(each.rate_per_s * np.asarray(each.detection_s) for each in classes) / rate
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        at_once = sum(
            each.rate_per_s * np.exp(-rate * np.asarray(each.recovery_s)) for each in classes
        )
        return Stops(rate, (1.0 / rate + found_s) * rate / at_once)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Probabilities of the three ends, which add up to 1, each kept without a difference of two
    others; `found_s` is the expected time that goes by after a wrong state was found, until the job
    works again, times the probability that one is."""

    passed: Real
    stopped: Real
    found: Real
    found_s: Real = 0.0

    def then(self, other: "Stretch") -> "Stretch":
        """The other one after this one, if it is passed."""
        with np.errstate(invalid="ignore"):
            return Stretch(
                self.passed * other.passed,
                self.stopped + self.passed * other.stopped,
                self.found + self.passed * other.found,
                self.found_s + self.passed * other.found_s,
            )

    def checked(self, hazard: Real, after_s: Real) -> "Stretch":
        """With a check's verdict at its end, after which a wrong state takes `after_s`."""
        found = self.passed * -np.expm1(-np.asarray(hazard))
        with np.errstate(invalid="ignore"):
            return Stretch(
                self.passed * np.exp(-np.asarray(hazard)),
                self.stopped,
                self.found + found,
                self.found_s + found * after_s,
            )

    def repeated(self, times: Real) -> "Stretch":
        """This one so many times in a row (0 or more, whole)."""
        ended = np.asarray(self.stopped + self.found)
        times = np.asarray(times, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            # 1 - passed^n over 1 - passed: how often it is begun.
            tried = -np.expm1(times * np.log1p(-np.minimum(ended, 1.0))) / ended
            begun = np.where((ended > 0.0) & (times > 0.0), tried, times)
            passed = np.asarray(self.passed) ** times
            return Stretch(passed, begun * self.stopped, begun * self.found, begun * self.found_s)

    def replaced_where(self, condition: Flag, other: "Stretch") -> "Stretch":
        """The other one where the condition holds, else this one."""
        return Stretch(
            np.where(condition, other.passed, self.passed),
            np.where(condition, other.stopped, self.stopped),
            np.where(condition, other.found, self.found),
            np.where(condition, other.found_s, self.found_s),
        )

    def until_passed_s(self, stops: Stops) -> Real:
        """Expected time until it is passed, begun anew after each other end."""
        ended = np.asarray(self.stopped) + self.found
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            spent_s = (self.stopped * stops.spent_s + self.found_s) / np.asarray(self.passed)
        spent_s = np.where(np.asarray(self.passed) > 0.0, spent_s, np.inf)
        return np.where(ended > 0.0, spent_s, 0.0)
