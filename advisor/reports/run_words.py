"""Runs, their records and what they showed, in words and table cells."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, log10
from typing import Any

from advisor.figures.runs import FAULT_WORDS, fired_faults
from advisor.reports.words import SUPERSEDED_MARK, listed
from advisor.software import superseded_words
from advisor.units import format_bytes, format_duration, format_number, format_percent
from db.pooling import Mean
from db.records import (
    MEASURED_SOURCE,
    Cadence,
    DispersionKind,
    EvidencedValue,
    Exposure,
    Mechanism,
    MissingReason,
    Quantity,
    RunOutcome,
    RunQuantity,
    RunSummary,
)
from db.run_record import (
    AfterFirst,
    AtPhase,
    AtStep,
    AtTime,
    EmergencyPart,
    FaultPart,
    OverheadPart,
    RankPart,
    Record,
    RecoveryPart,
    SavePart,
    StepPart,
    WindowPart,
)

NO_FAULT = "none"
"""The trace of a run without a fault, as the command line calls it."""
ABSENT = "–"
EXPOSURE_HEADER = (
    *("architecture", "trace", "conditions", "n", "backend", "before", "first knew (s)"),
    *("all knew (s)", "training", "after", "slowdown (%)", "evidence"),
)
NUMBER_HEADER = ("architecture", "quantity", "value", "n", "evidence", "holds for")
RANK_HEADER = ("rank", "ended", "exit code", "steps", "peak memory", "state", "last words")
FAULT_HEADER = (
    *("fault", "what", "rank", "planned", "struck", "first knew", "all knew", "training"),
)
RECOVERY_HEADER = (
    *("generation", "way", "state from", "step", "steps made again", "ranks", "faults", "total"),
)
SAVE_HEADER = (
    *(
        "path",
        "saves",
        "skipped",
        "failed",
        "training waits",
        "behind it",
        "bytes a save, all ranks",
    ),
)
EMERGENCY_HEADER = ("fault", "lead", "done after", "save alone", "bytes", "in time")
LINEAGE_HEADER = (
    *("generation", "way", "ranks", "from step", "state from", "steps lost", "global batch"),
    "equivalent",
)
DETECTION_HEADER = ("fault", "rank", "knew after", "how")
_LONGEST_SAID, _LONGEST_ERROR = 100, 64
_MOST_NAMED = 4
_MOST_DECIMALS = 9
_SOURCE_LINE = re.compile(r"\[[^\s\]]*/[^\s\]]+:\d+\] ?")
"""Where in a library's source an error arose, which would push the error itself off the line."""

_MISSING = {
    MissingReason.INFINITE: "never",
    MissingReason.NOT_RUN: "not run",
    MissingReason.UNDEFINED: "has no meaning here",
    MissingReason.INFEASIBLE: "infeasible",
    MissingReason.FAILED: "no run gave it",
    MissingReason.NOT_PUBLISHED: "not published",
}
_NOT_HERE = f"{ABSENT} (its runs are not here)"
_DISPERSION = {
    DispersionKind.CI95_HALF_WIDTH: "",
    DispersionKind.HALF_RANGE: " (half range)",
    DispersionKind.RANGE: " (range)",
}
_OUTCOMES = {
    RunOutcome.COMPLETED: "all steps were done",
    RunOutcome.HALTED: "training halted",
    RunOutcome.RECOVERED: "training was recovered",
    RunOutcome.RESTARTED: "training began again from nothing",
    RunOutcome.HANG: "training hung",
    RunOutcome.INFEASIBLE: "it cannot run",
}
_PHASES = {
    "starting": "while starting",
    "forming-groups": "while groups were formed",
    "noticing": "while it noticed a loss",
    "electing": "while others were elected",
    "restoring": "while states were restored",
    "checking": "while states were checked",
}


def headline(record: Record, mechanism: Mechanism | None) -> str:
    """What happened, in one sentence."""
    cell, faults = record.cell, fired_faults(record)
    parts = [listed_faults(faults)] if faults else []
    if faults:
        parts.append(_detection(faults[0], _survivors(record)))
    parts.append(_outcome(record))
    trace = cell.trace or "no fault planned"
    said = "; ".join(part for part in parts if part)
    return (
        f"{cell.architecture.upper()} with {_mechanism(cell.mechanism, mechanism)}, {trace}: {said}"
    )


def _mechanism(name: str, mechanism: Mechanism | None) -> str:
    is_none = mechanism is not None and mechanism.cadence is Cadence.NEVER
    return "no mechanism" if is_none else name.upper()


def listed_faults(faults: Sequence[FaultPart]) -> str:
    """Who was struck, how and when; the first few of many."""
    named = [
        f"rank {fault.rank} {FAULT_WORDS[fault.kind]}{_when(fault)}"
        for fault in faults[:_MOST_NAMED]
    ]
    rest = len(faults) - len(named)
    return listed([*named, f"{rest} more"] if rest else named)


def _when(fault: FaultPart) -> str:
    if isinstance(fault.planned, AtPhase):
        return f" {_PHASES[fault.planned.phase]}"
    return "" if fault.step is None else f" at step {fault.step:,}"


def _survivors(record: Record) -> int:
    lost = {each.rank for each in record.ranks if each.end not in ("finished", "stopped")}
    struck = lost & {fault.rank for fault in record.faults if fault.fired}
    return sum(each.rank not in struck for each in record.ranks)


def _detection(fault: FaultPart, survivors: int) -> str:
    """Of the first fault: until the last rank knew. Not all ranks of all architectures have to."""
    if fault.detected_s is None:
        return ""
    after = format_duration(fault.detected_s)
    if fault.censored:
        who = "not every survivor" if fault.detections else "no survivor"
        return f"{who} knew after {after}"
    who = "survivor" if len(fault.detections) == survivors else "rank that had to act"
    return f"the last {who} knew after {after}"


def _outcome(record: Record) -> str:
    if record.outcome is RunOutcome.GRACEFUL:
        left = _survivors(record)
        return f"training went on by itself with {left} {'rank' if left == 1 else 'ranks'} left"
    if record.outcome is RunOutcome.INVALID:
        return f"the run is invalid: {shortened('; '.join(record.validity_reasons))}"
    return _OUTCOMES[record.outcome]


def shortened(text: str, longest: int = _LONGEST_SAID) -> str:
    """One line; the record holds the whole text."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def exposure_rows(
    exposures: Sequence[Exposure], firsts: Mapping[str, Mean]
) -> Iterator[tuple[str, ...]]:
    """Rows under EXPOSURE_HEADER; `firsts` is when the first rank knew, by operating point."""
    shared = shared_conditions(exposures)
    for exposure in exposures:
        own = [words for words in _conditions(exposure) if words not in shared]
        yield (
            exposure.architecture.upper(),
            exposure.trace or NO_FAULT,
            ", ".join(own) or ABSENT,
            ABSENT if exposure.n is None else str(exposure.n),
            exposure.backend or _absent_backend(exposure),
            value_words(exposure.throughput),
            *_detections(exposure, firsts.get(exposure.point_id)),
            {True: "halts", False: "goes on", None: f"{ABSENT} (nobody knows)"}[exposure.halts],
            value_words(exposure.post_failure_throughput),
            value_words(exposure.aggregate_slowdown, 100.0),
            ", ".join(_origins(exposure)) + (SUPERSEDED_MARK if exposure.superseded_by else ""),
        )


def exposure_software_lines(exposures: Sequence[Exposure], set_aside: int) -> Iterator[str]:
    """What has to be said of the software that the rows, and those not shown, were measured
    under."""
    marked = [each for each in exposures if each.superseded_by is not None]
    if marked:
        newest = {each.superseded_by for each in marked if each.superseded_by is not None}
        names = dict.fromkeys(each.architecture.upper() for each in marked)
        yield superseded_words(newest, names)
    if set_aside:
        rows = (
            "1 row of superseded software is"
            if set_aside == 1
            else (f"{set_aside:,} rows of superseded software are")
        )
        yield f"{rows} not shown: measured anew since"


def shared_conditions(exposures: Sequence[Exposure]) -> list[str]:
    """What holds for every row, so that the rows need not say it."""
    each = [list(_conditions(exposure)) for exposure in exposures]
    return [words for words in each[0] if all(words in other for other in each)] if each else []


def is_measured(exposure: Exposure) -> bool:
    """Whether it is from runs of this program, and not from a publication: also where the runs
    themselves are in another database, and only what was pooled came here."""
    source = exposure.detection.source_id if exposure.detection else None
    return exposure.detector is not None or (source or "").startswith(MEASURED_SOURCE)


def _conditions(exposure: Exposure) -> Iterator[str]:
    yield exposure.workload
    if exposure.world_size is not None:
        yield f"{exposure.world_size} ranks"
    if exposure.detector is not None:
        yield exposure.detector
    elif is_measured(exposure) and exposure.throughput is not None:
        yield exposure.throughput.conditions.rpartition("; ")[2]
        return
    if exposure.group_timeout_s is not None:
        yield f"timeout {format_duration(exposure.group_timeout_s)}"


def _absent_backend(exposure: Exposure) -> str:
    return _NOT_HERE if is_measured(exposure) else _absent(MissingReason.NOT_PUBLISHED)


def _detections(exposure: Exposure, first: Mean | None) -> tuple[str, str]:
    """A published detection is the first sign of the failure; ours goes on to the last rank."""
    words = value_words(exposure.detection)
    if not is_measured(exposure):
        return words, _absent(MissingReason.NOT_PUBLISHED)
    if exposure.detector is None:
        return _NOT_HERE, words
    return mean_words(first), words


def _origins(exposure: Exposure) -> list[str]:
    """Where the row's numbers are from, each origin once."""
    found = [(_evidence(value), value.table_ref) for _, value in _values(exposure)]
    return list(dict.fromkeys(", ".join(filter(None, origin)) for origin in found))


def _values(exposure: Exposure) -> Iterator[tuple[Quantity, EvidencedValue]]:
    for quantity, value in (
        (Quantity.THROUGHPUT, exposure.throughput),
        (Quantity.DETECTION, exposure.detection),
        (Quantity.POST_FAILURE_THROUGHPUT, exposure.post_failure_throughput),
        (Quantity.AGGREGATE_SLOWDOWN, exposure.aggregate_slowdown),
        (Quantity.RESUMED, exposure.resumed),
    ):
        if value is not None:
            yield quantity, value


def _evidence(value: EvidencedValue) -> str:
    return value.evidence.value.replace("_", " ")


def number_rows(exposure: Exposure) -> Iterator[tuple[str, ...]]:
    """One row a number under NUMBER_HEADER: all that is known of where it comes from."""
    for quantity, value in _values(exposure):
        yield (
            exposure.architecture.upper(),
            quantity.value,
            value_words(value),
            ABSENT if value.n is None else str(value.n),
            f"{_evidence(value)}, {value.table_ref or value.source_id}",
            value.conditions,
        )


def value_words(value: EvidencedValue | None, scale: float = 1.0) -> str:
    """The number, times `scale`, with its dispersion; a missing one as a dash with the reason."""
    if value is None:
        return _absent(MissingReason.NOT_RUN)
    if value.value is None:
        return _absent(value.missing_reason)
    if value.low is not None and value.high is not None:
        ends = " to ".join(spread_words(end, None, scale) for end in (value.low, value.high))
        return f"{spread_words(value.value, None, scale)} ({ends})"
    kind = _DISPERSION[value.dispersion_kind] if value.dispersion_kind else ""
    return f"{spread_words(value.value, value.dispersion, scale)}{kind}"


def _absent(reason: MissingReason | None) -> str:
    return f"{ABSENT} ({_MISSING[reason]})" if reason else ABSENT


def mean_words(mean: Mean | None) -> str:
    if mean is None:
        return _absent(MissingReason.FAILED)
    return spread_words(mean.value, mean.half_width)


def spread_words(value: float, dispersion: float | None, scale: float = 1.0) -> str:
    """Both with the digits that the dispersion leaves to be known: `284.9 ± 0.1`."""
    scaled, spread = scale * value, scale * (dispersion or 0.0)
    if spread <= 0.0:
        return plain(scaled, 3 - _power(scaled))
    decimals = 2 - _power(spread)
    return f"{plain(scaled, decimals)} ± {plain(spread, decimals)}"


def _power(value: float) -> int:
    """The power of ten of the first digit."""
    return floor(log10(abs(value))) if value else 0


def plain(value: float, decimals: int) -> str:
    """At most so many decimals, none of them a zero at the end."""
    if decimals > _MOST_DECIMALS:
        return f"{value:.4g}"
    words = f"{value:,.{max(decimals, 0)}f}"
    return words.rstrip("0").rstrip(".") if "." in words else words


def cores_line(record: Record) -> str:
    """How many cores the ranks of a measured cluster had."""
    ranks, cores = record.cell.world_size, record.environment.cores
    if record.cell.device == "cuda":
        return f"In the newest run, {ranks} ranks trained on GPUs ({record.cluster.device})."
    if ranks > cores:
        return (
            f"In the newest run, {ranks} ranks shared {cores} cores of one machine: its throughput "
            "says what survives and how soon a loss is known, not how fast such a job could be."
        )
    return f"In the newest run, {ranks} ranks had {cores} cores."


def run_row(run: RunSummary) -> dict[str, object]:
    """One row of the list of runs: plain numbers, in seconds and fractions."""
    return {
        "run": run.run_id,
        "seed": run.seed,
        "outcome": None if run.outcome is None else str(run.outcome),
        "validity": str(run.validity),
        **{quantity.value: run.values.get(quantity) for quantity in RUN_QUANTITIES},
        "not_detected_within_s": run.censored_at_s,
        "wall_s": run.wall_s,
        "way": run.way,
        "recovery_total_s": run.values.get(RunQuantity.RECOVERY_TOTAL),
        "lost_steps": run.values.get(RunQuantity.LOST_STEPS),
        "overhead_fraction": run.values.get(RunQuantity.OVERHEAD),
        "architecture": run.architecture,
        "mechanism": run.mechanism,
        "trace": run.trace or NO_FAULT,
        "profile": run.profile,
        "world_size": run.world_size,
        "backend": run.backend,
        "started_at": run.started_at,
        "campaign": run.campaign,
        "validity_reason": run.validity_reason,
        "infeasible_reason": run.infeasible_reason,
    }


RUN_QUANTITIES = (
    RunQuantity.THROUGHPUT,
    RunQuantity.FIRST_DETECTION,
    RunQuantity.DETECTION,
    RunQuantity.POST_FAILURE_THROUGHPUT,
    RunQuantity.AGGREGATE_SLOWDOWN,
)


def facts(record: Record) -> Iterator[tuple[str, str]]:
    """The run's main figures, each with its name."""
    faults = fired_faults(record)
    if not faults:
        yield "Samples/s/rank", _rate(record.before)
        if record.overhead is not None:
            yield "Overhead", _overhead(record.overhead)
        return
    yield "Samples/s/rank before", _rate(record.before)
    yield "Samples/s/rank after", _after(record)
    slowdown = record.aggregate_slowdown_fraction
    yield "Aggregate slowdown", ABSENT if slowdown is None else format_percent(slowdown)
    yield "First knew after", _duration(faults[0].first_detected_s)
    yield "Last knew after", _last_knew(faults[0])
    for recovery in record.recoveries[:1]:
        yield "Recovery", _duration(recovery.total_s)
        yield "Steps made again", f"{recovery.lost_steps:,}"


def equivalence(record: Record) -> str:
    """Why the training is not the one that was planned; empty where it is."""
    if record.equivalent:
        return ""
    sizes = {recovery.world_size for recovery in record.recoveries}
    if sizes - {record.cell.world_size}:
        return "not equivalent: the group's size changed"
    return "not equivalent: some ranks' state was lost"


def _overhead(overhead: OverheadPart) -> str:
    words = format_percent(overhead.fraction)
    if overhead.low is None or overhead.high is None:
        return words
    return f"{words} ± {format_percent((overhead.high - overhead.low) / 2)}"


def overhead_words(overhead: OverheadPart) -> str:
    """From what an overhead was taken."""
    pairs = "1 pair" if overhead.pairs == 1 else f"{overhead.pairs} pairs"
    step = format_duration(overhead.baseline_step_s)
    words = (
        f"Overhead from {pairs} of blocks with and without the mechanism; a step without takes "
        f"{step}."
    )
    if overhead.overlap_factor is None:
        return words
    factor = format_number(overhead.overlap_factor)
    return f"{words} Of each second that saves took, {factor} s lengthened the training."


def subtitle(record: Record) -> str:
    """What tells the run from others of its kind."""
    cell = record.cell
    way = "" if cell.way is None else f"way {cell.way}, "
    return (
        f"{record.validity.value.capitalize()}; {way}seed {cell.seed}, profile {cell.profile}, "
        f"{record.steps_completed:,} of {cell.steps:,} steps, wall time "
        f"{format_duration(record.wall_s)}, started {record.started_at} on "
        f"{record.cluster.cluster}, campaign {record.campaign.campaign}."
    )


def _rate(window: WindowPart | None) -> str:
    return ABSENT if window is None else format_number(window.samples_per_s_per_rank)


def _after(record: Record) -> str:
    """Nobody trains any more after a halt, which is 0; whatever else is missing is not known."""
    is_over = record.outcome in (RunOutcome.HALTED, RunOutcome.HANG)
    return "0" if is_over and record.after is None else _rate(record.after)


def _last_knew(fault: FaultPart) -> str:
    words = _duration(fault.detected_s)
    return f"not within {words}" if fault.censored else words


def _duration(value_s: float | None) -> str:
    return ABSENT if value_s is None else format_duration(value_s)


def _bytes(size: int | None) -> str:
    return ABSENT if size is None else format_bytes(size)


def rank_row(rank: RankPart) -> tuple[str, ...]:
    """One row under RANK_HEADER."""
    return (
        str(rank.rank),
        rank.end,
        ABSENT if rank.exit_code is None else str(rank.exit_code),
        f"{rank.steps:,}",
        _bytes(rank.peak_memory_bytes),
        _bytes(rank.state_bytes),
        shortened(_SOURCE_LINE.sub("", rank.error), _LONGEST_ERROR),
    )


def fault_row(fault: FaultPart) -> tuple[str, ...]:
    """One row under FAULT_HEADER; a fault that did not strike was detected by nobody."""
    step = "" if fault.step is None else f", step {fault.step:,}"
    return (
        str(fault.ordinal),
        fault.kind,
        str(fault.rank),
        ", ".join(_planned(fault)),
        f"{format_duration(fault.at_s)}{step}" if fault.fired else "no",
        _duration(fault.first_detected_s),
        _last_knew(fault),
        fault.outcome.value.replace("_", " "),
    )


def _planned(fault: FaultPart) -> Iterator[str]:
    planned = fault.planned
    if isinstance(planned, AtTime):
        yield f"{format_duration(planned.time_s)} into training"
    elif isinstance(planned, AtStep):
        yield f"step {planned.step:,}"
    elif isinstance(planned, AfterFirst):
        yield f"{format_duration(planned.after_s)} after fault 0"
    else:
        yield _PHASES[planned.phase]
    if fault.lead_s is not None:
        yield f"announced {format_duration(fault.lead_s)} ahead"


def detection_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """Rows under DETECTION_HEADER: of each fault, the quickest rank first."""
    for fault in record.faults:
        for seen in sorted(fault.detections, key=lambda d: (d.after_s, d.rank)):
            yield (
                str(fault.ordinal),
                str(seen.rank),
                format_duration(seen.after_s),
                seen.how,
            )


def phase_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """Fault, phase and duration, in the order in which they happened."""
    for phase in record.phases:
        yield str(phase.fault), phase.phase.value, format_duration(phase.duration_s)


def recovery_row(recovery: RecoveryPart) -> tuple[str, ...]:
    """One row under RECOVERY_HEADER."""
    return (
        str(recovery.generation),
        str(recovery.way),
        recovery.source or "nothing: from the beginning",
        f"{recovery.step:,}",
        f"{recovery.lost_steps:,} ({format_duration(recovery.lost_s)})",
        str(recovery.world_size),
        ", ".join(map(str, recovery.faults)) or "none",
        _duration(recovery.total_s),
    )


def save_row(saves: SavePart) -> tuple[str, ...]:
    """One row under SAVE_HEADER."""
    size = saves.bytes_per_save
    return (
        saves.path,
        *(f"{count:,}" for count in (saves.count, saves.skipped, saves.failed)),
        _step(saves.foreground_s),
        _step(saves.background_s),
        _bytes(None if size is None else round(size)),
    )


def _step(summary: StepPart | None) -> str:
    return ABSENT if summary is None else format_duration(summary.mean)


def emergency_row(each: EmergencyPart) -> tuple[str, ...]:
    """One row under EMERGENCY_HEADER."""
    return (
        ABSENT if each.fault is None else str(each.fault),
        format_duration(each.lead_s),
        _duration(each.took_s),
        _duration(each.save_s),
        _bytes(each.bytes),
        "yes" if each.within_lead else "no",
    )


def lineage_row(line: Mapping[str, Any]) -> tuple[str, ...]:
    """One row under LINEAGE_HEADER; the record's lines are free in form."""
    names = ("generation", "way", "world_size", "step", "source", "lost_steps", "global_batch")
    said = (line.get(name) for name in names)
    words = (ABSENT if value in (None, "") else shortened(str(value), 40) for value in said)
    equivalent = line.get("equivalent")
    return (*words, "yes" if equivalent is True else "no" if equivalent is False else ABSENT)


def condition_rows(record: Record) -> Iterator[tuple[str, str]]:
    """What was asked of the run, and on what it ran; names and units as in the record."""
    parts: Iterable[Mapping[str, object]] = (
        {"started_at": record.started_at, "command": record.campaign.command},
        record.cell.model_dump(mode="json"),
        record.cluster.model_dump(),
        record.environment.model_dump(),
    )
    for part in parts:
        for name, value in part.items():
            if value not in (None, ""):
                yield name, shortened(str(value), 300)
