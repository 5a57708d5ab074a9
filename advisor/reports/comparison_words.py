"""Clusters side by side, in the cells and sentences that the command line and the app share."""

from collections.abc import Iterator, Sequence

from advisor.comparison.calibrations import ComparedFit
from advisor.comparison.clusters import CHANCE, ComparedRow, Comparison, Counts
from advisor.comparison.difference import Difference
from advisor.comparison.matching import Compared, Number
from advisor.comparison.same_scenario import ClusterAnswer
from advisor.recommendation import Recommendation
from advisor.reports.words import SUPERSEDED_MARK, evidence_code, label, probability, steps
from advisor.uncertainty.spread import MEASURED
from advisor.units import (
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_number,
    format_percent,
)
from db.records import (
    Cluster,
    ClusterEvidence,
    DispersionKind,
    EvidencedValue,
    FittedNumber,
    SoftwareStack,
)

MISSING = "not measured"
SPREAD_NOTE = "± is half the width of a 95 % interval, but where it is called a half range"
ABSENT = "–"
_NAMES = {
    Compared.OVERHEAD: "overhead",
    Compared.STALL: "stall per save",
    Compared.EMERGENCY_SAVE: "emergency save",
    Compared.RESTORE: "restore",
    Compared.EFFECTIVE_RESTORE: "effective restore",
    Compared.RECOVERY: "recovery",
    Compared.DETECTION: "detection",
}
_COEFFICIENTS = {
    "latency_s": "latency",
    "s_per_byte": "rate",
    "s_per_rank": "each rank more",
}
ANSWER_HEADER = (
    *("cluster", "mechanism", "interval", "expected", "goodput", "overhead", "runner-up"),
    *("later by", "best with", "ev.", "state", "step"),
)


def compared_name(compared: Compared) -> str:
    """What is compared, in words."""
    return _NAMES[compared]


def machine_header(found: Comparison) -> tuple[str, ...]:
    """Above `machine_rows`: one column a cluster."""
    return ("what", *found.names)


def machine_rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """Hardware, software and what was measured, side by side."""
    for title, cells in (
        ("nodes x ranks", [f"{c.nodes} x {c.ranks_per_node}" for c in _clusters(found)]),
        ("device", [c.device for c in _clusters(found)]),
        ("device memory", [_bytes(c.device_memory_bytes) for c in _clusters(found)]),
        ("host memory a node", [_bytes(c.host_memory_bytes) for c in _clusters(found)]),
        ("interconnect", [c.interconnect for c in _clusters(found)]),
        ("storage", [c.storage for c in _clusters(found)]),
        ("software", [software(e) for e in found.evidences]),
        ("superseded software", [superseded_software(e) for e in found.evidences]),
        ("operating points", [str(len(e.points)) for e in found.evidences]),
        ("calibrations", [str(len({f.session for f in e.fits})) for e in found.evidences]),
    ):
        yield (title, *(cell or ABSENT for cell in cells))


def software(evidence: ClusterEvidence) -> str:
    """The software stacks that no other one superseded."""
    return "; ".join(versions(s) for s in evidence.stacks.values() if s.superseded_by is None)


def superseded_software(evidence: ClusterEvidence) -> str:
    """Those that another one superseded."""
    return "; ".join(versions(s) for s in evidence.stacks.values() if s.superseded_by is not None)


def versions(stack: SoftwareStack) -> str:
    """`torch 2.3.0, CUDA 12.1, NCCL 2.20.5, Python 3.10`."""
    named = (
        ("torch", stack.torch),
        ("CUDA", stack.cuda),
        ("NCCL", stack.nccl),
        ("Python", stack.python),
    )
    return ", ".join(f"{name} {version}" for name, version in named if version)


def row_header(found: Comparison) -> tuple[str, ...]:
    """Above `row_cells`: of each cluster but the first also how it differs from the first."""
    first, *others = found.names
    columns = ["architecture", "mechanism", "trace", "interval", "state", "what", first]
    for name in others:
        of = f" ({name})" if len(others) > 1 else ""
        columns += [name, f"{name} / {first}", f"more than chance{of}", f"unlike in{of}"]
    return tuple(columns)


def row_cells(row: ComparedRow) -> tuple[str, ...]:
    """One cell of the comparison."""
    key = row.key
    first, *others = row.numbers
    cells = [
        key.architecture,
        key.mechanism,
        key.trace or "",
        "" if key.interval_steps is None else str(key.interval_steps),
        _sizes(row.numbers),
        compared_name(key.compared),
        number_words(key.compared, first),
    ]
    for other, found, unlike in zip(others, row.differences, row.unlike, strict=True):
        cells += [
            number_words(key.compared, other),
            ratio_words(found),
            verdict(found),
            ", ".join(unlike),
        ]
    return tuple(cells)


def number_words(compared: Compared, number: Number | None) -> str:
    """`1.2 s ± 100 ms, n = 3`; what is no 95 % interval, or not measured, says so; marked where it
    was measured under superseded software."""
    if number is None:
        return MISSING
    found = number.found
    if found.value is None:
        return MISSING if found.missing_reason is None else _reason(found.missing_reason.value)
    words = _value(compared, found.value)
    words += _spread(compared, found)
    if found.n:
        words += f", n = {found.n}"
    if found.evidence not in MEASURED:
        words += f", {_reason(found.evidence.value)}"
    return words + (SUPERSEDED_MARK if number.point.superseded_by is not None else "")


def _spread(compared: Compared, found: EvidencedValue) -> str:
    if found.dispersion is not None:
        kind = " (half range)" if found.dispersion_kind is DispersionKind.HALF_RANGE else ""
        return f" ± {_value(compared, found.dispersion)}{kind}"
    if found.low is not None and found.high is not None:
        return f" ({_value(compared, found.low)} to {_value(compared, found.high)})"
    return ""


def _sizes(numbers: Sequence[Number | None]) -> str:
    """The state size of numbers; where the clusters differ in it, each one's in their order."""
    sizes = [
        ABSENT if number is None else format_bytes(number.point.state_bytes) for number in numbers
    ]
    known = set(sizes) - {ABSENT}
    return known.pop() if len(known) == 1 else " | ".join(sizes)


def pair_words(row: ComparedRow, place: int) -> str:
    """Of the first cluster and the one at `place` of the others: `(204.7 MB | 1.0 GB, unlike in:
    state, ranks)`."""
    unlike = row.unlike[place]
    said = [_sizes([row.numbers[0], row.numbers[place + 1]])]
    said += [f"unlike in: {', '.join(unlike)}"] if unlike else []
    return f"({', '.join(said)})"


def ratio_words(found: Difference | None) -> str:
    """`1.25 (1.10 to 1.42)`, the 95 % interval."""
    if found is None or found.ratio is None:
        return ABSENT
    if found.low is None or found.high is None:
        return f"{found.ratio:.3g}"
    return f"{found.ratio:.3g} ({found.low:.3g} to {found.high:.3g})"


def verdict(found: Difference | None) -> str:
    """Whether more than chance is between two numbers."""
    if found is None:
        return ABSENT
    if found.is_more_than_chance is None:
        return found.why or "not told"
    return "yes" if found.is_more_than_chance else "no"


def count_lines(found: Comparison) -> Iterator[str]:
    """What was compared, and what could not be."""
    first = found.names[0]
    for counts in found.counts:
        yield _count_words(first, counts)
        if counts.unlike:
            yield (
                f"{counts.unlike} of those that both have differ in their conditions (unlike in): "
                "their ratio is of the conditions too, not of the clusters alone"
            )
    yield SPREAD_NOTE
    if any(e.set_aside for e in found.evidences):
        aside = ", ".join(
            f"{len(e.set_aside)} of {e.cluster.cluster}" for e in found.evidences if e.set_aside
        )
        yield f"operating points of superseded software that newer ones stand in for: {aside}"


def _count_words(first: str, counts: Counts) -> str:
    told = counts.more_than_chance + counts.maybe_chance
    return (
        f"{counts.cluster} beside {first}: {counts.both} numbers that both have, of which "
        f"{counts.more_than_chance} differ by more than chance, {counts.maybe_chance} may be "
        f"equal, {counts.not_told} cannot be told, {counts.not_measured} are not measured on both "
        f"sides; of {told} equal numbers, chance alone would make about "
        f"{format_number(told * CHANCE)} differ. Only {first} has {counts.only_first}, only "
        f"{counts.cluster} has {counts.only_this}"
    )


def fit_header(found: Comparison) -> tuple[str, ...]:
    """Above `fit_cells`."""
    first, *others = found.names
    columns = ["path", "processes", "what", first]
    for name in others:
        of = f" ({name})" if len(others) > 1 else ""
        columns += [name, f"{name} / {first}", f"more than chance{of}"]
    return tuple(columns)


def fit_cells(fit: ComparedFit) -> tuple[str, ...]:
    """One coefficient of a path, on each cluster; a rate is shown, and the ratio is of seconds."""
    first, *others = fit.numbers
    cells = [
        fit.path.value.replace("_", " "),
        str(fit.processes or ""),
        _COEFFICIENTS[fit.coefficient],
        _fitted(fit.coefficient, first),
    ]
    for other, found in zip(others, fit.differences, strict=True):
        cells += [_fitted(fit.coefficient, other), ratio_words(found), verdict(found)]
    return tuple(cells)


FIT_NOTE = "the ratio of two rates is that of the seconds a byte takes: above 1 is slower"


def calibration_line(found: Comparison) -> str | None:
    """Which clusters have no calibration to compare; None where all have one."""
    if not found.uncalibrated:
        return None
    verb = "has" if len(found.uncalibrated) == 1 else "have"
    return f"{', '.join(found.uncalibrated)} {verb} no calibration of its own to compare"


def answer_cells(answer: ClusterAnswer) -> tuple[str, ...]:
    """One row under `ANSWER_HEADER`."""
    found = answer.recommendation
    if found is None or found.selected is None:
        scenario = () if found is None else _job(found)
        blank = (ABSENT,) * (len(ANSWER_HEADER) - 2 - len(scenario))
        return (answer.cluster, "no data" if found is None else "none", *blank, *scenario)
    pick, other, sure = found.selected, found.runner_up, answer.how_sure
    return (
        answer.cluster,
        label(pick),
        ABSENT if pick.interval_steps is None else steps(pick.interval_steps),
        _duration(pick.expected_completion_s),
        ABSENT if pick.goodput is None else format_percent(pick.goodput),
        format_percent(pick.overhead),
        ABSENT if other is None else other.mechanism.upper(),
        ABSENT if found.margin_fraction is None else format_percent(found.margin_fraction),
        ABSENT if sure is None else probability(sure.best_probability),
        evidence_code(pick),
        *_job(found),
    )


def answer_lines(answers: Sequence[ClusterAnswer]) -> Iterator[str]:
    """Why clusters have no answer, and how the rows may be read."""
    for answer in answers:
        if answer.reason:
            yield f"{answer.cluster}: {answer.reason}"
    given = [a.recommendation for a in answers if a.recommendation is not None]
    for found in given:
        if found.selected is not None and found.selected.is_superseded:
            yield f"{found.scenario.cluster}: {SUPERSEDED_MARK} figures of superseded software"
    if len({found.scenario.step_time_s for found in given}) > 1:
        yield (
            "steps take their own time on each cluster, and each job is as long as was stated "
            "without failures: compare goodputs, or state the step time"
        )
    if len({found.scenario.state_bytes for found in given}) > 1:
        yield "state sizes are those that each cluster measured: state one to compare the same job"


def _job(found: Recommendation) -> tuple[str, str]:
    scenario = found.scenario
    return format_bytes(scenario.state_bytes), format_duration(scenario.step_time_s)


def _clusters(found: Comparison) -> list[Cluster]:
    return [evidence.cluster for evidence in found.evidences]


def _bytes(size: int | None) -> str:
    return "" if size is None else format_bytes(size)


def _value(compared: Compared, value: float) -> str:
    return format_percent(value) if compared is Compared.OVERHEAD else format_duration(value)


def _reason(code: str) -> str:
    return code.replace("_", " ")


def _duration(seconds: float | None) -> str:
    return ABSENT if seconds is None else format_duration(seconds)


def _fitted(coefficient: str, number: FittedNumber | None) -> str:
    if number is None:
        return ABSENT
    ends = (number.value, number.low, number.high)
    if coefficient == "s_per_byte":
        value, high, low = map(_rate, ends)
    else:
        value, low, high = map(format_duration, ends)
    return f"{value} ({low} to {high})"


def _rate(s_per_byte: float) -> str:
    return format_bytes_per_s(1.0 / s_per_byte) if s_per_byte > 0.0 else "any rate"
