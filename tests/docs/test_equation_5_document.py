"""docs/equation_5.md: its numbers are recomputed, its limits are those of the code."""

import re
from dataclasses import fields
from decimal import Decimal
from inspect import signature
from math import exp, sqrt

import pytest

from advisor import candidates, characterization, defaults
from advisor.checkpoint_interval import daly_interval_s, equation_5_interval_s, young_interval_s
from advisor.completion_time import CompletionTerms
from advisor.crossover import _SEARCH_FROM_S, _SEARCH_TO_S, HeldCost, held_crossing, shortcut_mtbf_s
from advisor.decide import decide
from advisor.defaults import resolve
from advisor.evidence import load_evidence, opened
from advisor.exact_time import SHOWN_DIFFERENCE, waste
from advisor.optimizer import Conditions, CostModel
from advisor.prediction import limits
from advisor.recommendation import Candidate, EvidenceCode, Versions
from advisor.scenario import Scenario, ScenarioInput
from db.records import ClusterEvidence, Quantity
from tests.docs.documents import DOCS, code_words, read, sections, table_with, tables

TEXT = read("equation_5.md")
SECTIONS = sections(TEXT)
_STEP_S = 32 / 284.9
_MTBF_S, _DURATION_S = 4 * 3600.0, 30 * 86400.0


def holds(stated: str, computed: float) -> bool:
    """Whether the number that the text begins with is `computed`, rounded to its digits."""
    digits = re.match(r"[\d.]+", stated)
    assert digits, stated
    number = Decimal(digits.group())
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return abs(float(number) - computed) <= 0.5000001 * 10.0**exponent


@pytest.fixture(scope="module")
def matilda(first_use: object) -> ClusterEvidence:
    with opened(str(first_use)) as engine:
        return load_evidence(engine, "matilda-8xv100")


def selected(evidence: ClusterEvidence, interval: int | None = None) -> Candidate:
    """FT1 on A2 in the document's example."""
    inputs = ScenarioInput(
        architecture="a2",
        state_bytes=204_700_000,
        mtbf_s=_MTBF_S,
        detection_s=30.0,
        mechanisms=("ft1",),
        interval=interval,
    )
    scenario = resolve(inputs, evidence)
    found = decide(evidence, scenario, Versions("", "", "")).selected
    assert found is not None
    return found


def test_the_worked_example(matilda: ClusterEvidence) -> None:
    found, rows = selected(matilda), table_with(SECTIONS["A worked example"], "quantity")
    assert found.model is not None
    assert found.terms is not None
    assert found.expected_completion_s is not None
    assert found.interval_steps is not None
    stall_s = found.model.stall_s
    fixed_s = 30.0 + 0.155 + 5.0
    best_s = float(equation_5_interval_s(stall_s, _MTBF_S, fixed_s))
    longer, as_measured = selected(matilda, 352), selected(matilda, 100)
    computed = {
        "t_step": _STEP_S,
        "C": stall_s,
        "D": fixed_s,
        "x*": best_s,
        "x* / t_step": best_s / _STEP_S,
        "Young": young_interval_s(stall_s, _MTBF_S),
        "Daly": daly_interval_s(stall_s, _MTBF_S),
        "I": found.interval_steps,
        "O": found.overhead,
        "T_lost": found.lost_s,
        "E[N_f]": found.terms.failures,
        "overhead": found.terms.overhead_s,
        "detection": found.terms.detection_s,
        "restore": found.terms.restore_s,
        "regrouping": found.terms.regroup_s,
        "lost work": found.terms.lost_s,
        "E[T_tot]": found.expected_completion_s,
        "goodput": found.goodput,
        "E[T_tot] at 352 steps": longer.expected_completion_s,
        "E[T_tot] at 100 steps": as_measured.expected_completion_s,
    }
    assert list(rows) == list(computed)
    wrong = [n for n, v in computed.items() if v is None or not holds(rows[n][0], float(v))]
    assert wrong == []
    assert longer.expected_completion_s is not None
    assert longer.expected_completion_s - found.expected_completion_s == pytest.approx(
        0.014, abs=5e-4
    )
    assert stall_s == pytest.approx(0.0048 * 100 * _STEP_S)
    # The minimum in closed form, and how flat it is.
    lowest = _DURATION_S * (sqrt(_MTBF_S + fixed_s) + sqrt(stall_s / 2)) ** 2 / _MTBF_S
    assert found.expected_completion_s == pytest.approx(lowest, rel=1e-8)
    for steps in (175, 702):
        other = selected(matilda, steps).expected_completion_s
        assert other is not None
        assert holds("0.07", 100 * (other / lowest - 1))
    assert "costs 0.07 % more time" in TEXT


def test_the_stalls_that_the_document_states(matilda: ClusterEvidence) -> None:
    points = {
        p.mechanism: p
        for p in matilda.points
        if p.point_id.split("/")[1] == "a2" and p.workload == "resnet50" and p.trace in (None, "F1")
    }
    share = {}
    for name in ("ft1", "ft2", "ft3", "ft5", "ft6"):
        overhead, save = (points[name].values[q].value for q in (Quantity.OVERHEAD, Quantity.SAVE))
        steps = points[name].interval_steps
        assert overhead is not None
        assert save is not None
        assert steps is not None
        share[name] = overhead * steps * _STEP_S / save
    assert holds("0.19", share.pop("ft1"))
    assert all(0.99 < value < 1.01 for value in share.values())
    text = SECTIONS["How the interval enters"]
    assert "0.19" in text
    assert "53.9 ms" in text
    assert holds("53.9", 1e3 * 0.0048 * 100 * _STEP_S)


def test_the_crossover_table() -> None:
    rows = table_with(SECTIONS["Crossovers"], "restores")
    for name, restore_1, restore_2 in (("published", 0.155, 0.017), ("calibrated", 0.3402, 0.0205)):
        stated = rows[name]
        assert holds(stated[0], 1e3 * restore_1)
        assert holds(stated[1], 1e3 * restore_2)
        for cell, shared_s in zip(stated[3:], (0.0, 50 * _STEP_S, 50 * _STEP_S + 5.0), strict=True):
            a = HeldCost(0.0048, shared_s + restore_1)
            b = HeldCost(0.0378, shared_s + restore_2)
            shortcut = shortcut_mtbf_s(a, b)
            assert shortcut is not None
            assert holds(stated[2], shortcut)
            crossing = held_crossing(a, b)
            exact_s = (1.0048 * restore_1 - 1.0378 * restore_2) / 0.033 - shared_s
            if cell == "never":
                assert crossing.mtbf_s is None
                assert crossing.a_wins_below
                assert exact_s < 0.0
            else:
                assert crossing.mtbf_s == pytest.approx(exact_s)
                assert holds(cell, exact_s)
    assert holds("5.616", 50 * _STEP_S)
    assert (_SEARCH_FROM_S, _SEARCH_TO_S) == (0.01, 1e10)


def test_the_first_order_table() -> None:
    """The exact time over Eq. (5), by the exact module, with next to no cost of a save."""
    rows = table_with(SECTIONS["First order only"], "s")
    assert list(rows) == ["0.05", "0.1", "0.15", "0.25", "0.5", "1"]
    for name, cells in rows.items():
        s = float(name)
        for cell, (detection_s, recovery_s, lost_s) in zip(
            cells, ((s, 0.0, 0.0), (0.0, s, 0.0), (0.0, 0.0, s)), strict=True
        ):
            interval_s = 2.0 * lost_s or 1e-9
            found = waste(
                interval_s=interval_s,
                stall_s=0.0,
                mtbf_s=1.0,
                detection_s=detection_s,
                recovery_s=recovery_s,
            )
            assert holds(cell, 100 * abs(1 / (1 - float(found)) / (1 + s) - 1))
    # In closed form: e^s of recoveries that begin anew, and of work that does.
    assert holds(rows["1"][1], 100 * (exp(1) / 2 - 1))
    assert holds(rows["1"][2], 100 * ((exp(2) - 1) / 4 - 1))
    assert "differ by more than\n1 %" in SECTIONS["First order only"]
    assert SHOWN_DIFFERENCE == 0.01


def test_the_limits_of_the_rules() -> None:
    rows = table_with(SECTIONS["From a measurement to your scenario"], "rule")
    for name, limit in (
        ("state size", limits.MAX_SIZE_RATIO),
        ("step time", limits.MAX_STEP_TIME_RATIO),
        ("storage rate", limits.MAX_STORAGE_RATE_RATIO),
        ("interval, shorter", limits.MAX_INTERVAL_SHORTENING),
    ):
        assert rows[name][1].startswith(f"{limit:g} times"), name
    assert f"Within {100 * characterization.SAME_SIZE:g} %" in TEXT


def test_the_codes() -> None:
    rows = table_with(SECTIONS["From a measurement to your scenario"], "code")
    assert list(rows) == [*EvidenceCode]


def test_the_defaults() -> None:
    rows = table_with(SECTIONS["The equation"], "symbol")
    assert f"{defaults.DEFAULT_DURATION_S / 86400:g} days if not given" in rows["T0"][2]
    assert f"else {defaults.DEFAULT_REGROUP_S:g} s:" in rows["T_PG"][2]
    assert f"else {defaults.DEFAULT_INIT_S:g} s:" in rows["T_init"][2]


def test_the_symbols_are_names_in_the_code() -> None:
    kinds = (Scenario, Candidate, CompletionTerms, CostModel, Conditions, HeldCost)
    known = {field.name for kind in kinds for field in fields(kind)}
    known |= signature(equation_5_interval_s).parameters.keys()
    rows = table_with(SECTIONS["The equation"], "symbol")
    assert [name for name, *_ in rows.values() if name.strip("`") not in known] == []


def test_ft4s_restore(matilda: ClusterEvidence) -> None:
    inputs = ScenarioInput("a2", 204_700_000, _MTBF_S, warning_lead_s=2.0, mechanisms=("ft4",))
    found = candidates.consider(matilda, resolve(inputs, matilda)).candidates[0]
    assert found.restore_s == pytest.approx(0.8847 + 0.01706)
    text = SECTIONS["The restore of FT4"]
    assert "884.7 ms + 17.06 ms = 901.8 ms" in text
    large = ScenarioInput("a2", 2_600_000_000, _MTBF_S, warning_lead_s=15.0, mechanisms=("ft4",))
    extrapolated = candidates.consider(matilda, resolve(large, matilda)).candidates[0]
    assert extrapolated.evidence is EvidenceCode.EXTRAPOLATED
    assert extrapolated.restore_s is not None
    assert extrapolated.restore_s > 0.217


def test_every_table_is_read_by_a_test() -> None:
    first = [rows[0][0] for rows in tables(TEXT)]
    assert first == ["symbol", "quantity", "restores", "s", "rule", "code"]


def test_files_that_are_named_exist() -> None:
    named = [word for word in code_words(TEXT) if word.endswith(".py")]
    assert named
    assert all((DOCS.parent / name).is_file() for name in named)
