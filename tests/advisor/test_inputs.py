"""The one list of inputs: complete, and what it writes reads back to the same value."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.defaults import resolve
from advisor.errors import UserError
from advisor.inputs import BY_FIELD, INPUTS, parse_interval, read_inputs, written
from advisor.scenario import (
    FailureRegime,
    FewerRanks,
    IntervalPolicy,
    RestoreBasis,
    ScenarioInput,
)
from db.records import ClusterEvidence

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "cluster": st.just("matilda-8xv100"),
    "architecture": st.sampled_from(["a1-sync", "a7"]),
    "interval": st.one_of(st.integers(1, 10**6), st.sampled_from(IntervalPolicy)),
    "mechanisms": st.sampled_from([("ft1",), ("ft2", "ft9")]),
    "failure_regime": st.sampled_from(FailureRegime),
    "restore_basis": st.sampled_from(RestoreBasis),
    "fewer_ranks": st.sampled_from(FewerRanks),
    "max_overhead": st.one_of(st.just(0.0), st.floats(1e-9, 10.0)),
    "warning_coverage": st.one_of(st.just(0.0), st.floats(1e-9, 1.0)),
}


def value_of(field: str) -> st.SearchStrategy[Any]:
    if field in _VALUES:
        return _VALUES[field]
    return st.integers(1, 10**15) if field.endswith("_bytes") else st.floats(1e-6, 1e12)


@pytest.mark.parametrize("field", BY_FIELD)
@given(st.data())
def test_written_values_read_back_without_loss(field: str, data: st.DataObject) -> None:
    each, value = BY_FIELD[field], data.draw(value_of(field))
    assert each.parse(each.write(value)) == value


def test_every_field_of_a_scenario_is_an_input() -> None:
    assert [f.name for f in fields(ScenarioInput) if f.name not in BY_FIELD] == []
    assert len({each.option for each in INPUTS}) == len(INPUTS)


def test_what_was_stated_asks_the_same_again(matilda: ClusterEvidence) -> None:
    texts = {
        "architecture": "a2",
        "state-size": "1 GB",
        "mtbf": "4h",
        "interval": "measured",
        "max-overhead": "5%",
        "mechanism": "FT1, ft2",
        "detection": "",
        "storage-write": "10Gbit/s",
    }
    scenario = resolve(read_inputs(texts), matilda)
    again = resolve(read_inputs(written(scenario)), matilda)
    assert again == scenario
    assert "detection" not in written(scenario)


def test_what_is_required_is_written_wherever_it_is_from(matilda: ClusterEvidence) -> None:
    texts = {"architecture": "a2", "state-size": "1GB", "mtbf": "4h"}
    scenario = resolve(read_inputs(texts), matilda)
    of_a_log = replace(scenario, assumed={**scenario.assumed, "mtbf_s": "a log"})
    assert written(of_a_log) == written(scenario) == texts


def test_mistakes_name_the_input() -> None:
    good = {"architecture": "a2", "state-size": "1GB", "mtbf": "4h"}
    for changed, message in (
        ({"mtbf": "4 parsecs"}, "mtbf: '4 parsecs' is not a duration"),
        ({"speed": "fast"}, "there is no input 'speed': write one of cluster, architecture"),
        ({"mtbf": " "}, "mtbf is missing"),
        ({"failure-regime": "many"}, "failure-regime: 'many' is not valid: write one of single"),
        ({"interval": "-5"}, "from 1"),
        ({"interval": "9" * 400}, "from 1"),
    ):
        with pytest.raises(UserError, match=message):
            read_inputs(good | changed)


def test_underscores_are_accepted_in_files() -> None:
    assert read_inputs({"architecture": "a2", "state_size": "1GB", "mtbf": "4h"}).mtbf_s == 14400.0


def test_intervals() -> None:
    assert parse_interval(" 100 ") == 100
    assert parse_interval("AUTO") is IntervalPolicy.AUTO
