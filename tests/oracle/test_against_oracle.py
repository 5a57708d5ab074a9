"""The product's answers against a second implementation (`oracle.py`), over random scenarios.

Hypothesis draws the scenarios with a fixed seed, so a run is repeatable. A scenario that meets a
limit to within rounding is left out: either answer is right there. Edges that can be met exactly
have tests of their own.
"""

import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from advisor.cli import run
from advisor.evidence import opened
from tests.oracle.oracle import Answer, Crossing, Inputs, Offer, Oracle, Paper, Why

REPOSITORY = Path(__file__).resolve().parents[2]
ARCHITECTURES = ("a1-sync", "a1-async", "a2", "a3", "a4", "a5", "a6", "a7")
MECHANISMS = tuple(f"ft{i}" for i in range(1, 10))
SIZES = (204_700_000, 2_567_000_000, 2_600_000_000, 2_616_900_000, 2_734_700_000)
CLOSE = 1e-9
REASONS = {
    r"^not among": Why.NOT_ASKED,
    r"^(infeasible|degenerate):": Why.INCOMPATIBLE,
    r"halts when a worker is lost": Why.NOTHING_PRESERVED,
    r"^without a warning": Why.NO_WARNING,
    r"^a coverage of": Why.COVERAGE,
    r"^a lead of": Why.LEAD,
    r"^(no run showed|under F[23] )": Why.SEVERAL_FAILURES,
    r"recovery was not observed": Why.UNOBSERVED,
    r"ended in deadlock": Why.BROKE_OFF,
    r"^no data( near enough)?:": Why.NO_DATA,
    r"longer than the whole job": Why.LONGER_THAN_JOB,
    r"^its copies need": Why.MEMORY,
    r"^its restore takes": Why.RESTORE,
    r"^overhead ": Why.OVERHEAD,
    r"^a failure pauses|^survivors go on": Why.PAUSE,
}
BEHIND = ("--state-size", "208MB", "--storage-write", "96MB/s")
SEEDS = st.integers(0, 2**32 - 1)
Ask = Callable[..., tuple[int, str, str]]


def examples(number: int) -> settings:
    """That many, the same in every run."""
    return settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
    )


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped data, as a first use stores it."""
    path = tmp_path_factory.mktemp("oracle") / "advisor.db"
    with opened(str(path)):
        pass
    return path


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle(Paper(REPOSITORY / "data"))


@pytest.fixture
def ask(database: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command in this process: (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([*arguments, "--db", str(database), "--format", "json"])
        return code, *capsys.readouterr()

    return call


# -- scenarios ------------------------------------------------------------------------------------


class Draw:
    """Draws evenly over orders of magnitude. Hypothesis gives the seed; its own strategies crowd at
    simple values, where most scenarios have no candidate at all."""

    def __init__(self, seed: int, oracle: Oracle) -> None:
        self._random = random.Random(seed)
        self._paper = oracle.paper

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def perhaps(self, probability: float, low: float, high: float) -> float | None:
        return self.spread(low, high) if self.chance(probability) else None

    def spread(self, low: float, high: float) -> float:
        """Six digits."""
        return float(f"{math.exp(self._random.uniform(math.log(low), math.log(high))):.6g}")

    def or_zero(self, probability: float, low: float, high: float) -> float | None:
        value = self.perhaps(probability, low, high)
        return 0.0 if value is not None and self.chance(0.2) else value

    def size(self, architecture: str) -> int:
        """At, near and far from those that were measured."""
        own = [p.state_bytes for p in self._paper.points if p.architecture == architecture]
        measured = int(self._random.choice(own if self.chance(0.8) else SIZES))
        return self._random.choice(
            [
                measured,
                int(measured * self._random.uniform(0.96, 1.04)),
                int(measured * self.spread(0.22, 4.5)),
                int(self.spread(3e7, 1.2e10)),
                int(self.spread(1, 1e15)) if self.chance(0.2) else measured,
            ]
        )

    def interval(self) -> int | str:
        whole = self._random.randint(10, 2000), int(self.spread(1, 1e6))
        words: list[int | str] = ["auto", "auto", "measured"]
        return self._random.choice([*words, *whole])

    def step(self, architecture: str, times: float) -> float | None:
        known = self._paper.default_step_time(architecture)
        return self.perhaps(0.5, known / times, known * times)

    def mechanisms(self) -> tuple[str, ...] | None:
        some = tuple(self._random.sample(MECHANISMS, self._random.randint(1, 6)))
        return some if self.chance(0.25) else None

    def architecture(self) -> str:
        return self._random.choice(ARCHITECTURES)

    def two(self) -> tuple[str, str]:
        a, b = self._random.sample(MECHANISMS[:6] if self.chance(0.8) else MECHANISMS, 2)
        return a, b

    def scenario(self, architecture: str) -> Inputs:
        lead = self.perhaps(0.6, 0.3, 60)
        coverage = self._random.choice([0.0, 0.5, 0.99]) if self.chance(0.2) else 1.0
        duration = self.perhaps(0.4, 3600, 1e8)
        return Inputs(
            architecture,
            self.size(architecture),
            self.spread(60, 365 * 86400),
            self.step(architecture, self._random.choice([3.0, 13.0])),
            self.spread(1, 3600) if self.chance(0.1) else duration,
            self.interval(),
            self.mechanisms(),
            self.perhaps(0.15, 1e-4, 3),
            self.perhaps(0.15, 0.01, 20),
            self.perhaps(0.15, 1, 700),
            lead,
            None if lead is None or self.chance(0.5) else coverage,
            self.chance(0.15),
            self.or_zero(0.6, 0.01, 700),
            self.or_zero(0.3, 0.1, 60),
            self.perhaps(0.3, 0.01, 30),
            self.perhaps(0.25, 1e6, 4e10),
            self.perhaps(0.2, 3e7, 4e10),
            int(self.spread(3e8, 3e10)) if self.chance(0.2) else None,
            self.chance(0.4),
        )


def arguments(inputs: Inputs) -> list[str]:
    """The command line of a scenario."""
    values = {
        "--architecture": inputs.architecture,
        "--state-size": f"{inputs.state_bytes}B",
        "--mtbf": f"{inputs.mtbf_s!r}s",
        "--step-time": _unit(inputs.step_time_s, "s"),
        "--duration": _unit(inputs.duration_s, "s"),
        "--interval": str(inputs.interval),
        "--mechanism": ",".join(inputs.mechanisms) if inputs.mechanisms else None,
        "--max-overhead": _unit(inputs.max_overhead, "%", 100),
        "--max-restore": _unit(inputs.max_restore_s, "s"),
        "--max-pause": _unit(inputs.max_pause_s, "s"),
        "--warning-lead": _unit(inputs.warning_lead_s, "s"),
        "--warning-coverage": _unit(inputs.warning_coverage, "%", 100),
        "--failure-regime": "multi" if inputs.several_failures else None,
        "--detection": _unit(inputs.detection_s, "s"),
        "--regroup": _unit(inputs.regroup_s, "s"),
        "--init": _unit(inputs.init_s, "s"),
        "--storage-write": _unit(inputs.storage_write, "B/s"),
        "--storage-read": _unit(inputs.storage_read, "B/s"),
        "--host-memory": _unit(inputs.host_memory_bytes, "B"),
        "--restore-basis": "calibrated" if inputs.calibrated else None,
    }
    return [part for name, value in values.items() if value is not None for part in (name, value)]


def _unit(value: float | None, unit: str, factor: float = 1) -> str | None:
    return None if value is None else f"{value * factor!r}{unit}"


# -- comparison -----------------------------------------------------------------------------------


def same(got: float | None, wanted: float | None, tolerance: float = CLOSE) -> bool:
    if got is None or wanted is None:
        return got is wanted
    return math.isclose(got, wanted, rel_tol=tolerance)


def kind_of(reason: str) -> Why:
    (kind,) = {why for pattern, why in REASONS.items() if re.search(pattern, reason)}
    return kind


def differences(document: dict[str, Any], answer: Answer) -> list[str]:
    """Everything in which the product's answer is not the oracle's."""
    got = {c["mechanism"]: c for c in document["candidates"]}
    wanted = {o.mechanism: o for o in answer.offers}
    reasons = {e["mechanism"]: e["reason"] for e in document["excluded"]}
    found = []
    for name in MECHANISMS:
        if name in wanted and name in got:
            found += [f"{name}: {text}" for text in _offer_differences(got[name], wanted[name])]
        elif name in wanted or name in got:
            found.append(f"{name}: got {reasons.get(name)}, wanted {answer.refused.get(name)}")
        elif kind_of(reasons[name]) is not answer.refused[name]:
            found.append(f"{name}: got {reasons[name]!r}, wanted {answer.refused[name].value!r}")
    chosen = document["selected"] and document["selected"]["mechanism"]
    best = answer.selected and answer.selected.mechanism
    if chosen != best:
        found.append(f"selected: got {chosen}, wanted {best}")
    frontier = {member["mechanism"] for member in document["frontier"]}
    if frontier != answer.frontier:
        found.append(f"frontier: got {sorted(frontier)}, wanted {sorted(answer.frontier)}")
    return found


def _offer_differences(got: dict[str, Any], wanted: Offer) -> list[str]:
    pairs = {
        "interval_steps": (got["interval_steps"], wanted.interval),
        "evidence": (got["evidence"], wanted.evidence),
    }
    found = [f"{key} {a}, wanted {b}" for key, (a, b) in pairs.items() if a != b]
    figures = {
        "overhead": wanted.overhead,
        "restore_s": wanted.restore_s,
        "expected_completion_s": wanted.expected_s,
        "lost_s": wanted.lost_s,
        "pause_s": wanted.pause_s,
    }
    found += [f"{k} {got[k]}, wanted {v}" for k, v in figures.items() if not same(got[k], v)]
    if wanted.expected_s is not None:
        terms = got["terms"]
        total = math.fsum(v for name, v in terms.items() if name != "failures")
        if not same(total, wanted.expected_s):
            found.append(f"the terms add up to {total}, wanted {wanted.expected_s}")
        if not same(got["goodput"], terms["base_s"] / wanted.expected_s) or got["goodput"] > 1:
            found.append(f"goodput {got['goodput']}")
    return found


def crossing_differences(crossovers: list[dict[str, Any]], wanted: list[Crossing]) -> list[str]:
    got = {c["b"]: c for c in crossovers}
    if set(got) != {c.other for c in wanted}:
        return [f"crossovers with {sorted(got)}, wanted {[c.other for c in wanted]}"]
    return [
        f"got {got[c.other]}, wanted {c}"
        for c in wanted
        if not same(got[c.other]["mtbf_s"], c.mtbf_s, 1e-7)
        or got[c.other]["faster_below"] != c.faster_below
    ]


# -- recommend ------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@examples(75)
@given(seed=SEEDS)
def test_recommend_is_the_oracles_decision(
    architecture: str, seed: int, oracle: Oracle, ask: Ask
) -> None:
    inputs = Draw(seed, oracle).scenario(architecture)
    note("advisor recommend " + " ".join(arguments(inputs)))
    answer = oracle.answer(inputs)
    assume(not answer.on_edge)
    code, out, err = ask("recommend", *arguments(inputs))
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert differences(document, answer) == []
    if inputs.interval == "auto":
        _check_moving_crossings(document["crossovers"], inputs, oracle)
    else:
        assert crossing_differences(document["crossovers"], answer.crossings) == []


def _check_moving_crossings(
    crossovers: list[dict[str, Any]], inputs: Inputs, oracle: Oracle
) -> None:
    """With the interval free, both follow the MTBF: who is faster is looked up on either side."""

    def lead(crossover: dict[str, Any], mtbf_s: float) -> float:
        there = oracle.answer(
            replace(inputs, mtbf_s=mtbf_s, mechanisms=(crossover["a"], crossover["b"]))
        )
        times = {o.mechanism: o.expected_s for o in there.offers}
        a, b = times[crossover["a"]], times[crossover["b"]]
        assert a is not None
        assert b is not None
        return (b - a) / min(a, b)

    for crossover in crossovers:
        crossing = crossover["mtbf_s"]
        if crossing is None:
            sign = 1 if crossover["faster_below"] == crossover["a"] else -1
            leads = [sign * lead(crossover, 10**power) for power in range(-2, 11)]
            assert min(leads) > -CLOSE, crossover
        else:
            sign = 1 if crossover["faster_below"] == crossover["a"] else -1
            assert sign * lead(crossover, crossing * 0.97) > -CLOSE, crossover
            assert sign * lead(crossover, crossing * 1.03) < CLOSE, crossover


@pytest.mark.parametrize(
    ("mechanism", "options", "offered"),
    [
        ("ft3", ["--state-size", "818.8MB"], True),  # 4 times the only measurement
        ("ft3", ["--state-size", "818800001B"], False),
        ("ft1", ["--state-size", "51.175MB"], True),
        ("ft1", ["--state-size", "51174999B"], False),
        ("ft1", ["--storage-write", "68.5MB/s"], True),  # 20 times slower
        ("ft1", ["--storage-write", "68499999B/s"], False),
        ("ft1", ["--storage-read", "26.4GB/s"], True),
        ("ft1", ["--storage-read", "26400000001B/s"], False),
        ("ft1", ["--interval", "10"], True),  # 10 times shorter
        ("ft1", ["--interval", "9"], False),
        ("ft3", [*BEHIND, "--interval", "20"], True),  # 208 MB / 96 MB/s is 19.3 steps
        ("ft3", [*BEHIND, "--interval", "19"], False),
        ("ft1", ["--max-restore", "155ms"], True),
        ("ft1", ["--max-restore", "154.999ms"], False),
        ("ft1", ["--interval", "480", "--max-overhead", "0.1%"], True),
        ("ft1", ["--interval", "479", "--max-overhead", "0.1%"], False),
        ("ft4", ["--warning-lead", "974.5ms"], True),  # 884.7 + 89.8
        ("ft4", ["--warning-lead", "974.499ms"], False),
        ("ft4", ["--warning-lead", "2s", "--warning-coverage", "99.999%"], False),
        ("ft6", ["--state-size", "100MB", "--host-memory", "800MB"], True),  # 2 copies x 4 ranks
        ("ft6", ["--state-size", "100MB", "--host-memory", "799999999B"], False),
    ],
)
def test_a_limit_that_is_met_exactly_is_kept(
    mechanism: str, options: list[str], offered: bool, ask: Ask
) -> None:
    stated = {"--architecture": "a2", "--state-size": "204.7MB", "--mtbf": "4h"}
    stated |= dict(zip(options[::2], options[1::2], strict=True))
    code, out, _ = ask("recommend", *(part for pair in stated.items() for part in pair))
    assert code == 0
    assert (mechanism in {c["mechanism"] for c in json.loads(out)["candidates"]}) is offered


@pytest.mark.parametrize(
    ("options", "evidence"),
    [
        (("--state-size", "208.79MB"), "M"),
        (("--state-size", "208.80MB"), "E"),
        (("--state-size", "200.61MB"), "M"),
        (("--state-size", "200.60MB"), "E"),
        (("--state-size", "204.7MB", "--step-time", "114.5ms"), "M"),
        (("--state-size", "204.7MB", "--step-time", "114.6ms"), "E"),
        (("--state-size", "204.7MB", "--storage-read", "1.346GB/s"), "M"),
        (("--state-size", "204.7MB", "--storage-read", "1.347GB/s"), "E"),
    ],
)
def test_within_two_per_cent_counts_as_measured(
    options: tuple[str, ...], evidence: str, ask: Ask
) -> None:
    fixed = ("--architecture", "a2", "--mtbf", "4h", "--interval", "100", "--mechanism", "ft1")
    _, out, _ = ask("recommend", *fixed, *options)
    assert json.loads(out)["selected"]["evidence"] == evidence


# -- the other commands ---------------------------------------------------------------------------


@examples(60)
@given(seed=SEEDS)
def test_crossover_solves_equation_5(seed: int, oracle: Oracle, ask: Ask) -> None:
    draw = Draw(seed, oracle)
    architecture, (a, b) = draw.architecture(), draw.two()
    interval = draw.interval()
    inputs = Inputs(
        architecture,
        draw.size(architecture),
        3600.0,
        draw.step(architecture, 9),
        interval="measured" if interval == "auto" else interval,
        mechanisms=(a, b),
        warning_lead_s=1e9,
        detection_s=draw.or_zero(0.7, 0.01, 700),
        regroup_s=draw.or_zero(0.7, 0.1, 60),
    )
    note(f"advisor crossover {a} {b} " + " ".join(arguments(inputs)))
    answers = [oracle.answer(replace(inputs, calibrated=c)) for c in (False, True)]
    assume(not any(answer.on_edge for answer in answers))
    unused = {"--mtbf", "--mechanism", "--warning-lead", "--warning-coverage"}
    told = arguments(inputs)
    options = [p for n in range(0, len(told), 2) if told[n] not in unused for p in told[n : n + 2]]
    code, out, err = ask("crossover", a, b, *options)
    priced = {o.mechanism: o for o in answers[0].offers if o.expected_s is not None}
    if set(priced) != {a, b}:
        assert (code, out, err.count("\n")) == (2, "", 1)
        return
    assert (code, err) == (0, "")
    for got, answer in zip(json.loads(out)["crossovers"], answers, strict=True):
        offers = {o.mechanism: o for o in answer.offers}
        asked = oracle.crossing(inputs, offers[a], offers[b])
        assert same(got["mtbf_s"], asked.mtbf_s, 1e-7)
        assert got["faster_below"] == asked.faster_below
        for side, name in (("a", a), ("b", b)):
            assert same(got[f"{side}_overhead"], offers[name].overhead)
            assert same(got[f"{side}_restore_s"], offers[name].restore_s)
            assert same(got[f"{side}_lost_s"], offers[name].lost_s)


@examples(50)
@given(seed=SEEDS)
def test_pareto_finds_who_is_beaten_on_no_axis(seed: int, oracle: Oracle, ask: Ask) -> None:
    draw = Draw(seed, oracle)
    architecture = draw.architecture()
    inputs = Inputs(
        architecture,
        draw.size(architecture),
        draw.spread(60, 1e7),
        draw.step(architecture, 9),
        interval=draw.interval(),
        warning_lead_s=1e9,
        storage_write=draw.perhaps(0.3, 3e7, 4e10),
        storage_read=draw.perhaps(0.3, 3e7, 4e10),
        calibrated=draw.chance(0.5),
    )
    note("advisor pareto " + " ".join(arguments(inputs)))
    answer = oracle.answer(inputs)
    assume(not answer.on_edge)
    code, out, err = ask("pareto", *arguments(inputs))
    assert (code, err) == (0, "")
    points = {p["mechanism"]: p for p in json.loads(out)["points"]}
    assert points.keys() == {o.mechanism for o in answer.offers}
    for offer in answer.offers:
        point = points[offer.mechanism]
        assert point["interval_steps"] == offer.interval
        assert point["evidence"] == offer.evidence
        assert same(point["overhead"], offer.overhead)
        assert same(point["restore_s"], offer.restore_s)
        assert point["on_frontier"] is (offer.mechanism in answer.frontier)


@examples(60)
@given(seed=SEEDS)
def test_interval_minimises_equation_5(
    seed: int, oracle: Oracle, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = Draw(seed, oracle)
    save_s, mtbf_s = draw.spread(1e-3, 1e5), draw.spread(1, 1e8)
    recovery_s = draw.or_zero(0.8, 0.1, 1e5) or 0.0
    told = ("--save-time", f"{save_s!r}s", "--mtbf", f"{mtbf_s!r}s", "--recovery", f"{recovery_s}s")
    capsys.readouterr()
    assert run(["interval", *told, "--format", "json"]) == 0
    got = json.loads(capsys.readouterr().out)

    def slowdown(interval_s: float) -> float:
        return (1 + save_s / interval_s) * (1 + (recovery_s + 0.5 * interval_s) / mtbf_s)

    # Three sections of the logarithm, until the value stands still.
    low, high = math.log(1e-6), math.log(1e12)
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if slowdown(math.exp(a)) <= slowdown(math.exp(b)) else (a, high)
    best = got["equation_5_interval_s"]
    assert same(slowdown(best), slowdown(math.exp(low)), 1e-12)
    assert same(best, math.exp(low), 1e-5)
    assert same(got["young_interval_s"], math.sqrt(2 * save_s * mtbf_s))
    share = save_s / (2 * mtbf_s)
    daly = math.sqrt(2 * save_s * mtbf_s) * (1 + math.sqrt(share) / 3 + share / 9) - save_s
    assert same(got["daly_interval_s"], daly if save_s < 2 * mtbf_s else mtbf_s, 1e-8)
    # The exact one, by halving z in log(1 - z) + z = -C/M.
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        above = middle == 1.0 or math.log1p(-middle) + middle < -save_s / mtbf_s
        low, high = (low, middle) if above else (middle, high)
    assert same(got["exact_interval_s"], low * mtbf_s, 1e-5)


# -- the oracle itself ----------------------------------------------------------------------------


def test_the_oracle_repeats_the_papers_figures(oracle: Oracle) -> None:
    def offer(mechanism: str, inputs: Inputs) -> Offer:
        return next(o for o in oracle.answer(inputs).offers if o.mechanism == mechanism)

    a2 = Inputs("a2", 204_700_000, 14400.0, interval=100, warning_lead_s=2.0)
    shown = {"ft1": 0.0048, "ft2": 0.0378, "ft3": 0.0119, "ft4": 0.0, "ft6": 0.0675}
    assert {m: offer(m, a2).overhead for m in shown} == pytest.approx(shown)
    assert offer("ft4", a2).restore_s == pytest.approx(0.902, abs=5e-4)
    assert offer("ft1", a2).lost_s == pytest.approx(5.6, abs=0.02)
    # Table XII: at 500 steps 33 % holds on A4; A5 is above 35 % and needs 505.
    a4 = Inputs("a4", 2_567_000_000, 14400.0, interval=500)
    a5 = Inputs("a5", 2_616_900_000, 14400.0, interval=500)
    assert offer("ft2", a4).overhead == pytest.approx(0.335, abs=5e-4)
    assert offer("ft2", a5).overhead == pytest.approx(0.353, abs=5e-4)
    needed = offer("ft2", replace(a5, interval="auto", mtbf_s=600.0, max_overhead=0.35)).interval
    assert needed is not None
    assert needed >= 505
    # Section IX: the shortcut's 4.2 s is Eq. (5)'s only where nothing but the restores differs.
    bare = replace(a2, detection_s=0.0, regroup_s=0.0)
    one, two = (replace(offer(m, bare), lost_s=0.0) for m in ("ft1", "ft2"))
    assert oracle.crossing(bare, one, two).mtbf_s == pytest.approx(4.2, abs=0.05)
    assert oracle.crossing(a2, offer("ft1", a2), offer("ft2", a2)).mtbf_s is None


# -- where the product and the oracle part --------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ("--mechanism", "ft1", "--duration", "1s"),  # 8 steps; 10 is the shortest
        ("--mechanism", "ft3", "--duration", "1min", "--storage-write", "1MB/s"),  # saves of 205 s
    ],
)
def test_a_short_job_does_not_make_shorter_intervals_known(
    options: tuple[str, ...], ask: Ask
) -> None:
    _, out, _ = ask(
        *("recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"), *options
    )
    assert json.loads(out)["selected"] is None


def test_a_larger_state_does_not_stall_less(ask: Ask) -> None:
    """FT1 on A2 at 100 steps: 1.71 % at 729 MB, and 0.18 % at 730 MB."""
    overheads = []
    for size in ("729MB", "730MB"):
        fixed = ("--architecture", "a2", "--mtbf", "4h", "--interval", "100", "--mechanism", "ft1")
        _, out, _ = ask("recommend", *fixed, "--state-size", size)
        overheads.append(json.loads(out)["selected"]["overhead"])
    assert overheads[1] >= 0.99 * overheads[0]


def test_a_larger_state_does_not_restore_sooner(ask: Ask) -> None:
    """FT2 on A7, calibrated: 289.8 ms at 2.65 GB, and 279.1 ms at 2.653 GB."""
    restores = []
    for size in ("2.65GB", "2.653GB"):
        fixed = ("--architecture", "a7", "--mtbf", "4h", "--restore-basis", "calibrated")
        _, out, _ = ask("recommend", *fixed, "--mechanism", "ft2", "--state-size", size)
        restores.append(json.loads(out)["selected"]["restore_s"])
    assert restores[1] >= restores[0]
