"""A simulation as JSON, as rows of CSV, as a table's rows and in sentences (docs/json.md)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from advisor.reports.document import scenario_document
from advisor.reports.words import steps
from advisor.scenario import Scenario
from advisor.simulation.composed import in_words
from advisor.simulation.fallbacks import fallbacks_of
from advisor.simulation.parts import Part
from advisor.simulation.process import SURVIVES_ALL, Warnings
from advisor.simulation.run import Simulated
from advisor.simulation.setups import Setup, SimulatedSetups
from advisor.units import format_duration, format_number, format_percent

FORMAT = "failbench-advisor-simulation"
VERSION = 1
HEADER = (
    "mechanism",
    "interval",
    "mean",
    "±",
    "P50",
    "P95",
    "P99",
    "exact",
    "Eq. (5)",
    "failures",
)
CSV_HEADER = (
    *("mechanism", "interval_steps", "tiers", "in_time_fraction"),
    *("expected_completion_s", "exact_completion_s"),
    *("replications", "mean_s", "half_width_s", "is_narrow", "p50_s", "p95_s", "p99_s", "failures"),
    *("from_beginning", "spent_work_s", "spent_saves_s", "spent_detection_s", "spent_waiting_s"),
    *("spent_recovery_s", "spent_emergency_s", "spent_lost_s"),
)
_ABSENT = "–"


def to_document(
    scenario: Scenario, told: Mapping[str, Any], simulated: SimulatedSetups
) -> dict[str, Any]:
    """The document of simulation-1.schema.json; `told` is how it was asked for."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_document(scenario),
        **told,
        "candidates": [_candidate(*each) for each in simulated.found],
        "not_simulated": [asdict(other) for other in simulated.left_out],
    }


def csv_rows(simulated: SimulatedSetups) -> Iterator[tuple[object, ...]]:
    """One row a setup, under `CSV_HEADER`."""
    for setup, found in simulated.found:
        numbers = _candidate(setup, found)
        numbers |= {f"spent_{name}": value for name, value in numbers["spent"].items()}
        numbers["tiers"] = in_words(setup.parts)
        announced = numbers["announced"]
        numbers["in_time_fraction"] = None if announced is None else announced["in_time_fraction"]
        yield tuple(numbers[name] for name in CSV_HEADER)


def row(setup: Setup, found: Simulated) -> tuple[str, ...]:
    """One setup under `HEADER`."""
    times_s = (found.mean_s, found.half_width_s, found.p50_s, found.p95_s, found.p99_s)
    expected_s = (setup.exact_completion_s, setup.expected_completion_s)
    return (
        setup.name.upper(),
        _intervals(setup.parts),
        *map(format_duration, times_s),
        *(_ABSENT if s is None else format_duration(s) for s in expected_s),
        format_number(found.failures),
    )


def remarks(simulated: SimulatedSetups) -> Iterator[str]:
    """What the table does not show: what fell back to where, what is not known closely, and what
    was not simulated."""
    for setup, found in simulated.found:
        name = setup.name.upper()
        yield from (f"{name}: {words}" for words in _fallback_words(setup, found))
        if not found.is_narrow:
            off = format_percent(found.half_width_s / found.mean_s)
            yield f"{name}: {found.replications:,} jobs are too few, the mean is known within {off}"
    yield from left_out_lines(simulated)


def left_out_lines(simulated: SimulatedSetups) -> Iterator[str]:
    """What was not simulated, and why."""
    for other in simulated.left_out:
        yield f"{other.mechanism.upper()}: not simulated, {other.reason}"


def _fallback_words(setup: Setup, found: Simulated) -> Iterator[str]:
    shares, warnings = fallbacks_of(setup.process), setup.process.warnings
    if warnings is not None:
        yield _announced_words(warnings)
    if shares.missed:
        yield (
            f"{format_percent(shares.missed)} of the failures go back to the last emergency save, "
            "or to the beginning where there is none yet"
        )
    if shares.unsurvived:
        yield (
            f"{format_percent(shares.unsurvived)} of the failures leave no state, and go back to "
            "the beginning"
        )
    if shares.missed or shares.unsurvived:
        yield (
            f"in the mean a job began again {format_number(found.from_beginning)} times, and did "
            f"{format_duration(found.spent.lost_s)} of work again"
        )


def _announced_words(warnings: Warnings) -> str:
    in_time = warnings.in_time_fraction
    save = f"the emergency save ({format_duration(warnings.save_s)}"
    if warnings.shortest_lead_s > warnings.save_s:
        save += f", and up to {format_duration(warnings.shortest_lead_s)}"
    if in_time == 1.0:
        return f"every failure is announced in time for {save})"
    return f"{format_percent(in_time)} of the failures are announced in time for {save})"


def _candidate(setup: Setup, found: Simulated) -> dict[str, Any]:
    alone = setup.parts[0] if len(setup.parts) == 1 else None
    warnings = setup.process.warnings
    numbers = {name: value for name, value in asdict(found).items() if name != "seed"}
    return {
        "mechanism": setup.name,
        "interval_steps": alone.interval_steps if alone else None,
        "tiers": [_tier(part) for part in setup.parts],
        "announced": None if warnings is None else _announced(warnings),
        "expected_completion_s": setup.expected_completion_s,
        "exact_completion_s": setup.exact_completion_s,
        **numbers,
    }


def _tier(part: Part) -> dict[str, Any]:
    return {
        "mechanism": part.mechanism,
        "interval_steps": part.interval_steps,
        "survives_nodes": None if part.survives == SURVIVES_ALL else part.survives,
    }


def _announced(warnings: Warnings) -> dict[str, float]:
    return {
        "in_time_fraction": warnings.in_time_fraction,
        "save_s": warnings.save_s,
        "shortest_lead_s": warnings.shortest_lead_s,
    }


def _intervals(parts: Sequence[Part]) -> str:
    known = [part.interval_steps for part in parts if part.interval_steps is not None]
    if not known:
        return _ABSENT
    return steps(known[0]) if len(known) == 1 else f"{' + '.join(f'{n:,}' for n in known)} steps"
