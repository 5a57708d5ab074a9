"""The answer, as frozen dataclasses: everything that shows a recommendation starts from here.

Times are seconds, sizes bytes, fractions plain numbers. None means that the value does not exist
(never "unknown but probably fine"); the reason stands beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from advisor.exact_time import IntervalChoice
from advisor.optimizer import CostModel
from advisor.rules import Part, Rule
from advisor.scenario import Scenario


class EvidenceCode(StrEnum):
    """How a candidate's figures are known (paper, Table XII)."""

    MEASURED = "M"
    EXTRAPOLATED = "E"
    DERIVED = "D"


@dataclass(frozen=True, slots=True)
class UsedValue:
    """One stored number that a candidate rests on."""

    point_id: str
    quantity: str
    value: float | None
    evidence: str
    n: int | None
    dispersion: float | None
    dispersion_kind: str | None
    source_id: str | None
    table_ref: str
    conditions: str


@dataclass(frozen=True, slots=True)
class NativeDegradation:
    """Survivors go on by themselves: outside the sum of Eq. (5), reported directly."""

    latency_low_s: float
    latency_high_s: float
    slowdown: float | None
    """Share of the aggregate throughput lost after one failure; negative: it rose."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Eq. (5), in seconds over the whole job; they add up to the expected completion time.

    `failures` is their expected number, not part of the sum.
    """

    base_s: float
    overhead_s: float
    detection_s: float
    restore_s: float
    regroup_s: float
    init_s: float
    lost_s: float
    failures: float


@dataclass(frozen=True, slots=True)
class RuleError:
    """Leave-one-out error of a rule: `n` points predicted without themselves.

    Fractions of what was measured; signed: above zero where too much was predicted. None where
    nothing could be compared by ratio. `n_apart` points cannot be told from zero, and are compared
    by the difference as a share of the steps that pay for it.
    """

    part: Part
    n: int
    median_fraction: float | None
    largest_fraction: float | None
    signed_median_fraction: float | None
    n_apart: int
    largest_apart_fraction: float | None


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """How far a rule was off on the cluster; without errors, `not_checked` says why."""

    rule: Rule
    errors: tuple[RuleError, ...]
    not_checked: str | None


@dataclass(frozen=True, slots=True)
class SeenError:
    """How far predictions were off where they were tried live; of predicted / observed - 1.

    `cells` says which runs: of the same architecture and mechanism if there are any.
    """

    cells: str
    n: int
    median_fraction: float
    """Signed: below 0, runs took longer than predicted."""
    largest_fraction: float
    """Of either sign, as a positive number."""


@dataclass(frozen=True, slots=True)
class ExactTime:
    """The expected time without Eq. (5)'s simplifications (advisor/exact_time.py)."""

    completion_s: float | None
    """None: longer than a float holds; the job practically never ends."""
    difference_fraction: float | None
    """Exact / Eq. (5) - 1; None with `completion_s`."""
    is_flagged: bool
    """Whether the two differ by more than 1 %."""
    interval: IntervalChoice | None
    """How the interval compares with the best one; None: it cannot vary."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism that meets every rule and limit, at its interval."""

    mechanism: str
    name: str
    evidence: EvidenceCode
    interval_steps: int | None
    interval_s: float | None
    young_interval_s: float | None
    """Young's and Daly's rules of thumb for the same stall per save and MTBF, for comparison."""
    daly_interval_s: float | None
    overhead: float
    restore_s: float | None
    pause_s: float
    lost_s: float | None
    expected_completion_s: float | None
    goodput: float | None
    terms: Terms | None
    host_memory_bytes_per_rank: int
    native: NativeDegradation | None
    rules: tuple[str, ...]
    """Every step from the measurement to this figure, in words; empty when measured as is."""
    notes: tuple[str, ...]
    """What else a reader should know of these figures."""
    used: tuple[UsedValue, ...]
    checks: tuple[RuleCheck, ...] = ()
    """Of each of the rules, in their order, how far it was off on this cluster; empty in answers
    that were saved before this was known."""
    seen: SeenError | None = None
    """How far expected times of this kind of cell were off when they were tried live; None: never
    tried."""
    exact: ExactTime | None = None
    """The exact expected time beside Eq. (5)'s; None outside Eq. (5), and in answers that were
    saved before it was computed."""
    model: CostModel | None = None
    """The cost model behind the figures; not part of the printed answer."""

    @property
    def slowdown(self) -> float | None:
        """Expected completion time / failure-free time - 1; None outside Eq. (5)."""
        if self.terms is None or self.expected_completion_s is None:
            return None
        return self.expected_completion_s / self.terms.base_s - 1.0


TOO_FAR = "no data near enough: "
"""How the reason starts where a measurement is too far from the scenario."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """A mechanism that is not offered, why, and its known figures (shown, never selected)."""

    mechanism: str
    reason: str
    shown: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_too_far(self) -> bool:
        """Whether it was measured, but not near enough; no rule or limit speaks against it."""
        return self.reason.startswith(TOO_FAR)


@dataclass(frozen=True, slots=True)
class Dominated:
    mechanism: str
    dominated_by: str


@dataclass(frozen=True, slots=True)
class Frontier:
    """The Pareto frontier of the candidates over the named axes."""

    axes: tuple[str, ...]
    members: tuple[str, ...]
    dominated: tuple[Dominated, ...]
    not_comparable: tuple[str, ...]
    """Candidates without a value on one of the axes."""


@dataclass(frozen=True, slots=True)
class Crossover:
    """The MTBF at which `a` and `b` take equally long; None: they never do.

    `mtbf_s` solves Eq. (5); `shortcut_mtbf_s` is the paper's dC/dO, which leaves out that the
    number of failures grows with (1 + O) too.
    """

    a: str
    b: str
    mtbf_s: float | None
    shortcut_mtbf_s: float | None
    faster_below: str | None
    """Which of the two wins at MTBFs below the crossing; without one, everywhere."""


@dataclass(frozen=True, slots=True)
class SourceNote:
    source_id: str
    citation: str
    url: str


@dataclass(frozen=True, slots=True)
class Versions:
    """What the answer was computed by and from."""

    advisor_version: str
    schema_revision: str
    data_version: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The whole answer. `selected` is None when nothing satisfies the limits."""

    scenario: Scenario
    selected: Candidate | None
    runner_up: Candidate | None
    margin_s: float | None
    margin_fraction: float | None
    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]
    frontier: Frontier
    crossovers: tuple[Crossover, ...]
    warnings: tuple[str, ...]
    sources: tuple[SourceNote, ...]
    versions: Versions

    def is_selected(self, candidate: Candidate) -> bool:
        return self.selected is not None and candidate.mechanism == self.selected.mechanism
