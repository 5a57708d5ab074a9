"""The numbers of a recommendation that tools are set to, each with where it is from.

Times are seconds. A tool turns them into its own unit, and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, floor, log

from advisor.emit.needs import Need, need_of
from advisor.errors import UserError
from advisor.recommendation import Candidate, EvidenceCode, Recommendation
from advisor.scenario import Scenario
from advisor.units import format_duration
from db.records import Mechanism

OUT_OF_RESTARTS = 1e-3
"""Share of jobs that may run out of restarts, where failures are memoryless."""
WAITS = 2.0
"""How many times the longest wait of a healthy step a timeout is at least."""

_CODES = {
    EvidenceCode.MEASURED: "measured directly",
    EvidenceCode.EXTRAPOLATED: "extrapolated by a stated rule",
    EvidenceCode.DERIVED: "derived from the architecture's own behaviour",
}


@dataclass(frozen=True, slots=True)
class Number:
    """One number of the answer.

    `path` is its place in the JSON document of the recommendation, `words` what it is, `evidence`
    how it is known.
    """

    value: float
    unit: str
    path: str
    words: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Act:
    """One mechanism that is to be realised."""

    mechanism: str
    name: str
    need: Need
    interval: Number | None
    """Steps between two saves; None where it does not save periodically."""
    replicas: int
    """Copies of a rank's state that others hold."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a tool is set to. `lead` is None where no warning comes."""

    acts: tuple[Act, ...]
    timeout: Number
    restarts: Number
    lead: Number | None
    ranks_per_node: Number
    step_time_s: float

    @property
    def mechanisms(self) -> str:
        """`FT4+FT1`, in the order in which they were named."""
        return "+".join(act.mechanism.upper() for act in self.acts)

    def has(self, *needs: Need) -> bool:
        """Whether any of the needs is one of the plan's."""
        return any(act.need in needs for act in self.acts)


def make_plan(
    recommendation: Recommendation,
    mechanisms: Mapping[str, Mechanism],
    ranks_per_node: int,
    chosen: Sequence[str] = (),
) -> Plan:
    """The plan of the selected candidate, or of the `chosen` mechanisms together.

    Raises UserError where the answer has no such candidate, or nothing that a tool could be set to.
    """
    names = tuple(chosen) or _selected(recommendation)
    if len(set(names)) < len(names):
        raise UserError(f"{'+'.join(names)} names a mechanism twice")
    candidates = [_candidate(recommendation, name, alone=len(names) == 1) for name in names]
    known = [candidate for candidate in candidates if candidate is not None]
    if not known:
        raise UserError(f"{'+'.join(names)}: none of them is a candidate of the answer")
    for candidate in known:
        if candidate.native is not None:
            raise UserError(
                f"{recommendation.scenario.architecture.upper()} goes on by itself after a loss: "
                "there is nothing to set in a tool"
            )
    acts = tuple(
        _act(name, _described(mechanisms, name), candidate)
        for name, candidate in zip(names, candidates, strict=True)
    )
    if len(acts) > 1 and any(act.need is Need.NOTHING for act in acts):
        raise UserError(f"{'+'.join(names)}: no fault tolerance beside another mechanism is none")
    scenario = recommendation.scenario
    return Plan(
        acts=acts,
        timeout=_timeout(scenario, known),
        restarts=_restarts(scenario, known, acts),
        lead=_lead(scenario, acts),
        ranks_per_node=Number(
            ranks_per_node,
            "ranks",
            "scenario.cluster",
            f"the ranks of a node of {scenario.cluster}: copies lie on another node",
            _given(scenario, "cluster"),
        ),
        step_time_s=scenario.step_time_s,
    )


def enough_restarts(expected: float, share: float = OUT_OF_RESTARTS) -> int:
    """The fewest restarts that Chernoff's bound promises to suffice in all but `share` of the jobs.

    `expected` is the expected number of failures in the job. For a Poisson number N of that mean,
    P(N >= k) <= exp(k - expected - k ln(k / expected)) where k > expected; n restarts run out at
    the failure k = n + 1.
    """
    if expected <= 0.0:
        return 0
    low, high = floor(expected), max(2 * floor(expected), 1)
    while not _rare(high + 1, expected, share):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _rare(middle + 1, expected, share) else (middle + 1, high)
    return high


def _rare(failures: int, expected: float, share: float) -> bool:
    if failures <= expected:
        return False
    return exp(failures - expected - failures * log(failures / expected)) <= share


def _selected(recommendation: Recommendation) -> tuple[str, ...]:
    if recommendation.selected is None:
        raise UserError(
            "no mechanism satisfies every rule and limit: there is nothing to emit; "
            "`advisor recommend` says why"
        )
    return (recommendation.selected.mechanism,)


def _candidate(recommendation: Recommendation, name: str, *, alone: bool) -> Candidate | None:
    """The candidate; None for one that is left out of the answer, but helps beside others.

    Only a save on a warning can: alone it leaves the unannounced failures, beside others it does
    not have to cover them.
    """
    for candidate in recommendation.candidates:
        if candidate.mechanism == name:
            return candidate
    for excluded in recommendation.excluded:
        if excluded.mechanism != name:
            continue
        if not alone:
            return None
        raise UserError(f"{name.upper()} is no candidate of the answer: {excluded.reason}")
    offered = ", ".join(c.mechanism for c in recommendation.candidates) or "none"
    raise UserError(f"{name!r} is no candidate of the answer: its candidates are {offered}")


def _described(mechanisms: Mapping[str, Mechanism], name: str) -> Mechanism:
    found = mechanisms.get(name)
    if found is None:
        raise UserError(f"the database does not describe {name!r}, which the answer names")
    return found


def _act(name: str, mechanism: Mechanism, candidate: Candidate | None) -> Act:
    need = need_of(mechanism)
    if candidate is None and need is not Need.WARNING:
        raise UserError(f"{name.upper()} is no candidate of the answer: it cannot be composed")
    interval = None
    if candidate is not None and candidate.interval_steps is not None:
        interval = Number(
            candidate.interval_steps,
            "steps",
            "candidate.interval_steps",
            f"the interval of {name.upper()}: a save every {candidate.interval_steps:,} steps, "
            f"{format_duration(candidate.interval_s or 0.0)}",
            _of_candidate(candidate),
        )
    return Act(name, mechanism.name, need, interval, mechanism.default_replicas)


def _of_candidate(candidate: Candidate) -> str:
    known = f"{candidate.evidence.value}, {_CODES[candidate.evidence]}"
    return "; ".join((known, *candidate.rules))


def _given(scenario: Scenario, field: str) -> str:
    return scenario.assumed.get(field, "given")


def _timeout(scenario: Scenario, candidates: Sequence[Candidate]) -> Number:
    """The detection time, which after a halt follows the timeout; never so short that a healthy
    group times out."""
    wait_s = scenario.step_time_s + max(_stall_s(scenario, c) for c in candidates)
    detected = format_duration(scenario.detection_s)
    evidence = _given(scenario, "detection_s")
    words = f"the detection time, {detected}: ranks that wait for a lost one give up after it"
    if scenario.detection_s < WAITS * wait_s:
        words = (
            f"{WAITS:g} times the longest wait of a healthy step, {format_duration(wait_s)}; the "
            f"detection time, {detected}, would end healthy groups"
        )
        evidence = f"from the step time ({_given(scenario, 'step_time_s')}) and the stall per save"
    seconds = max(scenario.detection_s, WAITS * wait_s)
    return Number(seconds, "s", "scenario.detection_s", words, evidence)


def _stall_s(scenario: Scenario, candidate: Candidate) -> float:
    """What training waits for at one save, in seconds: by the overhead, or as it was clocked."""
    stall_s = candidate.overhead * (candidate.interval_steps or 0) * scenario.step_time_s
    clocked = (u.value for u in candidate.used if u.quantity == "save_s" and u.value is not None)
    return max((stall_s, *clocked))


def _restarts(scenario: Scenario, candidates: Sequence[Candidate], acts: Sequence[Act]) -> Number:
    path = "candidate.terms.failures"
    if all(act.need is Need.NOTHING for act in acts):
        return Number(0, "", path, "nothing is kept that a restart could go on from", "by design")
    terms = [c.terms for c in candidates if c.terms is not None]
    expected = max((t.failures for t in terms), default=scenario.duration_s / scenario.mtbf_s)
    return Number(
        enough_restarts(expected),
        "",
        path,
        f"{expected:,.4g} failures are expected in the job; so many restarts run out in at most "
        "1 job of 1,000",
        f"derived: Eq. (5) and a Poisson number of failures; MTBF {_given(scenario, 'mtbf_s')}",
    )


def _lead(scenario: Scenario, acts: Sequence[Act]) -> Number | None:
    if not any(act.need is Need.WARNING for act in acts):
        return None
    if scenario.warning_lead_s is None:
        raise UserError("a save on a warning needs a warning lead in the scenario, such as 2min")
    return Number(
        scenario.warning_lead_s,
        "s",
        "scenario.warning_lead_s",
        f"the warning lead, {format_duration(scenario.warning_lead_s)}: the save has to end in it",
        _given(scenario, "warning_lead_s"),
    )
