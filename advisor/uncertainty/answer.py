"""How sure a recommendation is, and what it would be over a range of MTBFs."""

from dataclasses import replace

from advisor.candidates import conditions_of, consider
from advisor.errors import UserError
from advisor.recommendation import (
    Candidate,
    DrawnValue,
    MinimaxRegret,
    Recommendation,
    Uncertainty,
)
from advisor.scenario import require_in_range
from advisor.uncertainty.best import chances, perfect_information_s
from advisor.uncertainty.draws import completion_times_s
from advisor.uncertainty.law import DRAWS, SEED, UncertainValue, deviations
from advisor.uncertainty.minimax import Choice, held_regret, minimax_choices
from advisor.uncertainty.propagation import TabledCosts, tabled_costs
from db.records import ClusterEvidence

_LARGEST_FACTOR = 1e6
_FACTORS = f"write a number from 1 to {_LARGEST_FACTOR:,.0f}, such as 2"


def with_uncertainty(
    evidence: ClusterEvidence,
    found: Recommendation,
    *,
    drawn: bool = True,
    mtbf_factor: float | None = None,
) -> Recommendation:
    """The recommendation with how sure it is, and with its answer over a range of MTBFs."""
    return replace(
        found,
        uncertainty=uncertainty_of(evidence, found) if drawn else None,
        minimax=None if mtbf_factor is None else minimax_of(evidence, found, mtbf_factor),
    )


def uncertainty_of(
    evidence: ClusterEvidence,
    found: Recommendation,
    seed: int = SEED,
    draws: int = DRAWS,
    costs: TabledCosts | None = None,
) -> Uncertainty:
    """What the measurements' dispersion does to the answer (docs/uncertainty.md).

    `costs` where they are known already: `tabled_costs` of the same answer.
    """
    reason = why_not_priced(found)
    if reason is not None:
        return Uncertainty(seed, draws, (), 0.0, (), (), reason)
    if costs is None:
        costs = tabled_costs(evidence, found.scenario, found.candidates)
    off = deviations(costs.values, seed, draws)
    times_s = completion_times_s(costs, off, anew=True)
    return Uncertainty(
        seed=seed,
        draws=draws,
        chances=chances(costs.mechanisms, times_s),
        perfect_s=perfect_information_s(times_s),
        drawn=tuple(map(_drawn, costs.values)),
        held=costs.held,
    )


def minimax_of(evidence: ClusterEvidence, found: Recommendation, factor: float) -> MinimaxRegret:
    """The answer where the MTBF is only known within a factor, from M / factor to M factor.

    Candidates are those of the whole range. Raises UserError for a factor below 1, or a range
    beyond what an MTBF may be.
    """
    if not 1.0 <= factor <= _LARGEST_FACTOR:
        raise UserError(f"an MTBF within a factor of {factor:g} is not possible: {_FACTORS}")
    scenario = found.scenario
    low_s, high_s = scenario.mtbf_s / factor, scenario.mtbf_s * factor
    for end_s in (low_s, high_s):
        require_in_range("mtbf_s", end_s)
    reason, selected = why_not_priced(found), found.selected
    if reason is not None or selected is None:
        return MinimaxRegret(low_s, high_s, (), None, reason)
    everywhere = [
        {c.mechanism for c in consider(evidence, replace(scenario, mtbf_s=end_s)).candidates}
        for end_s in (low_s, high_s)
    ]
    admitted = set.intersection(*everywhere)
    choices = [_choice(c) for c in found.candidates if c.mechanism in admitted]
    conditions = conditions_of(scenario)
    best = minimax_choices(choices, conditions, low_s, high_s)
    if not best:
        words = "no candidate meets every rule and limit over the whole range"
        return MinimaxRegret(low_s, high_s, (), None, words)
    held = None
    if selected.mechanism in admitted:
        at = _choice(selected)
        at = replace(at, model=replace(at.model, interval_steps=selected.interval_steps))
        held = held_regret(choices, at, conditions, low_s, high_s)
    return MinimaxRegret(low_s, high_s, best, held)


def parse_factor(text: str) -> float:
    """`2`, `1.5`: within which factor an MTBF is known; `minimax_of` says which are possible.

    Raises UserError.
    """
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{text.strip()[:30]!r} is not a factor: {_FACTORS}") from None


def why_not_priced(found: Recommendation) -> str | None:
    """Why there is no probability and no regret; None where Eq. (5) prices the answer."""
    if found.selected is None:
        return "there is no candidate"
    if found.selected.model is None:
        return (
            f"{found.scenario.architecture.upper()} goes on by itself after a loss, which is "
            "outside Eq. (5)"
        )
    return None


def _choice(candidate: Candidate) -> Choice:
    assert candidate.model is not None
    return Choice(candidate.mechanism, candidate.model)


def _drawn(value: UncertainValue) -> DrawnValue:
    degrees = value.spread.degrees
    return DrawnValue(
        point_id=value.key[0],
        quantity=value.key[1].value,
        value=value.value,
        n=value.n,
        standard_error=value.spread.standard_error,
        degrees=None if degrees == float("inf") else degrees,
        origin=value.spread.origin,
    )
