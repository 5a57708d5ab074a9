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
    superseded_by: str | None = None
    """The newest software stack of the cluster, where the number was measured under an older one;
    None also in answers that were saved before this was known."""


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
    """None: longer than any duration that can be asked for; the job practically never ends."""
    difference_fraction: float | None
    """Exact / Eq. (5) - 1; None with `completion_s`."""
    is_flagged: bool
    """Whether the two differ by more than 1 %."""
    interval: IntervalChoice | None
    """How the interval compares with the best one; None: it cannot vary."""


@dataclass(frozen=True, slots=True)
class DrillMark:
    """What drills on the cluster say of a mechanism; of each drill the newest counts.

    Tested: some passed, none failed, none is too old. Otherwise `reason` says why not, in words.
    """

    is_tested: bool
    reason: str
    passed: int
    failed: int
    stale: int
    """Those that passed too long ago."""
    newest_at: str | None
    """When the newest one was tried, UTC; None: none was."""
    run_ids: tuple[str, ...]
    """The runs behind it, one a drill."""


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
    drilled: DrillMark | None = None
    """What drills on the cluster say of it; None: no mechanism was drilled there, or the answer was
    saved before there were drills. Either way it is untested."""
    model: CostModel | None = None
    """The cost model behind the figures; not part of the printed answer."""

    @property
    def is_superseded(self) -> bool:
        """Whether one of its figures was measured under a superseded software stack."""
        return any(used.superseded_by is not None for used in self.used)

    @property
    def is_marked_untested(self) -> bool:
        """Whether others were drilled on the cluster, and this one was not, or in vain."""
        return self.drilled is not None and not self.drilled.is_tested

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
    is_flagged: bool | None = None
    """Whether Eq. (5) is more than 1 % off the exact time of one of the two there; None without a
    crossing, and in answers that were saved before it was computed."""


class SpreadOrigin(StrEnum):
    """What says how far a measured number may be off."""

    OWN = "own"
    """Its own runs."""
    OWN_AND_POOLED = "own_and_pooled"
    """Its own runs, steadied by those of the cluster's other points."""
    POOLED = "pooled"
    """Those of the other points: it was measured once."""
    PAIRS = "pairs"
    """The steps of its single run, with and without the mechanism in turn."""


@dataclass(frozen=True, slots=True)
class DrawnValue:
    """A measured number that was drawn anew: it may be off by `standard_error`, in its unit, times
    a Student-t number with `degrees` degrees of freedom (None: a normal number); by which law,
    says advisor/uncertainty/law.py."""

    point_id: str
    quantity: str
    value: float
    n: int | None
    standard_error: float
    degrees: float | None
    origin: SpreadOrigin


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A number that was not drawn, and why."""

    point_id: str
    quantity: str
    reason: str


@dataclass(frozen=True, slots=True)
class Chance:
    """One candidate over all draws, at its interval. Times in seconds, of the whole job.

    The regret is how much longer it takes than the soonest of that draw; as a fraction, of the
    soonest's time. `low_s` and `high_s` hold the middle 90 % of its expected completion times.
    """

    mechanism: str
    best_probability: float
    expected_regret_s: float
    expected_regret_fraction: float
    low_s: float
    high_s: float


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What the measurements' dispersion does to the answer; without `chances`, `reason` says why.

    `perfect_s`: what knowing every drawn number exactly would save in expectation (s).
    """

    seed: int
    draws: int
    chances: tuple[Chance, ...]
    perfect_s: float
    drawn: tuple[DrawnValue, ...]
    held: tuple[HeldValue, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RegretChoice:
    """One candidate at the interval with the least regret over a range of MTBFs.

    Its regret at the two ends (s); no MTBF between them has a larger one.
    """

    mechanism: str
    interval_steps: int | None
    regret_low_s: float
    regret_high_s: float
    largest_regret_s: float
    largest_regret_fraction: float


@dataclass(frozen=True, slots=True)
class MinimaxRegret:
    """The answer where the MTBF is only known to lie between two ends (s); choices best first.

    `held` is the recommended candidate at its recommended interval. Without choices, `reason`
    says why.
    """

    mtbf_low_s: float
    mtbf_high_s: float
    choices: tuple[RegretChoice, ...]
    held: RegretChoice | None
    reason: str | None = None


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
    uncertainty: Uncertainty | None = None
    """How sure the answer is; None where that was not asked for."""
    minimax: MinimaxRegret | None = None
    """The answer over a range of MTBFs; None where that was not asked for."""

    def is_selected(self, candidate: Candidate) -> bool:
        return self.selected is not None and candidate.mechanism == self.selected.mechanism
