"""Intervals in steps: the shortest that a measurement supports, the one that the scenario fixes,
and the rule by which an overhead holds at another."""

from math import ceil

from advisor.prediction.limits import MAX_INTERVAL_SHORTENING
from advisor.prediction.outcome import NoPredictionError, Prediction
from advisor.prediction.scales import storage_rate
from advisor.rules import AppliedRule, Rule
from advisor.scenario import IntervalPolicy, Scenario
from advisor.units import format_number
from db.records import Mechanism

_ROUNDING = 1e-9
"""Steps that the rounding of a quotient may add without meaning one more."""


def interval_rule(prediction: Prediction, interval: int | None) -> tuple[AppliedRule, ...]:
    """The rule by which an overhead holds at another interval (steps) than the measured one."""
    measured = prediction.reference_interval_steps
    if interval is None or measured is None or interval == measured:
        return ()
    words = (
        f"interval: overhead ~ 1 / interval, from the measured {measured:,} steps to "
        f"{interval:,} ({format_number(max(interval / measured, measured / interval))} times)"
    )
    return (AppliedRule(Rule.INTERVAL, words),)


def shortest_interval(
    scenario: Scenario, mechanism: Mechanism, interval: int, own_step_s: float
) -> int:
    """The shortest interval in steps: near enough to the measured one (`interval`, at a step of
    `own_step_s` seconds), and the persist fits."""
    step_s = scenario.step_time_s
    shortest_s = interval * own_step_s / MAX_INTERVAL_SHORTENING
    rate = storage_rate(scenario, mechanism.persist_path)
    if rate is not None:
        shortest_s = max(shortest_s, scenario.state_bytes / rate)
    return max(1, ceil(shortest_s / step_s - _ROUNDING))


def fixed_interval(scenario: Scenario, measured: int, shortest: int) -> int | None:
    """The interval (steps) that the scenario fixes, None where it is free. Raises
    NoPredictionError where it is shorter than `shortest` or longer than the job."""
    if scenario.interval is IntervalPolicy.AUTO:
        return None
    wanted = measured if isinstance(scenario.interval, IntervalPolicy) else scenario.interval
    if wanted < shortest:
        raise NoPredictionError(
            f"no data: an interval of {wanted} steps is shorter than {shortest} steps, the "
            f"shortest that the measurement at {measured} steps supports"
        )
    whole_job = int(scenario.duration_s / scenario.step_time_s)
    if wanted > whole_job:
        raise NoPredictionError(
            f"an interval of {wanted:,} steps is longer than the whole job of {whole_job:,} steps"
        )
    return wanted
