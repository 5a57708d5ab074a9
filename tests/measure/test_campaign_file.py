"""Campaign files: what they plan, and what is said of a mistake in one."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from measure.campaign import Cell
from measure.campaign_file import KEYS, read_campaign_file, requests_of
from measure.errors import UsageError
from measure.interfaces.capabilities import Way
from measure.plan import plan_of

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "data/schemas/campaign-1.schema.json").read_text("utf-8")
)
GOOD = """
profile = "smoke"
world-size = 4
device = "cpu"
seeds = 2

[[block]]
architecture = ["a2", "a4"]
mechanism = "ft1,ft9"
trace = ["none", "f1"]
interval = [5, 10]

[[block]]
architecture = "a2"
mechanism = ["ft4"]
lead = ["50ms", "none"]
seeds = 1
"""


def planned(folder: Path, text: str, name: str = "mine.toml", **usual: Any) -> list[Cell]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    requests = read_campaign_file(path, usual)
    return list(plan_of(requests, "c", "tiny", folder, "test").cells)


def test_blocks_are_every_combination(tmp_path: Path) -> None:
    cells = planned(tmp_path, GOOD)
    ids = [cell.job.run_id for cell in cells]
    assert len(set(ids)) == len(ids)
    # FT1 at two intervals; FT9 has none, so that its two combinations are one cell.
    of_ft1 = [cell for cell in cells if cell.job.mechanism == "ft1"]
    assert len(of_ft1) == 2 * 2 * 2 * 2
    assert {cell.job.interval_steps for cell in of_ft1} == {5, 10}
    of_ft9 = [cell.job.run_id for cell in cells if cell.job.mechanism == "ft9"]
    assert sorted(of_ft9) == [
        f"c/{name}-ft9-{trace}-s{seed}"
        for name in ("a2", "a4")
        for trace in ("f1", "none")
        for seed in (0, 1)
    ]
    assert {cell.job.lead_s for cell in cells if cell.job.mechanism == "ft4"} == {0.05, None}


def test_cells_that_differ_in_parameters_only_have_ids_of_their_own(tmp_path: Path) -> None:
    once, again = (
        {cell.job.interval_steps: cell.job.run_id for cell in planned(tmp_path, GOOD)}
        for _ in range(2)
    )
    assert once == again


def test_a_cell_comes_back_from_its_json_and_takes_another_seed(tmp_path: Path) -> None:
    for cell in planned(tmp_path, GOOD):
        told = json.loads(json.dumps(cell.to_json()))
        assert Cell.from_json(told) == cell
        other = Cell.from_json({**told, "seed": 77, "run_id": "c/x-s77"})
        assert (other.job.seed, other.job.run_id) == (77, "c/x-s77")


def test_json_says_the_same_as_toml(tmp_path: Path) -> None:
    import tomllib

    text = json.dumps(tomllib.loads(GOOD))
    assert planned(tmp_path, text, "mine.json") == planned(tmp_path, GOOD)


def test_options_stand_for_what_the_file_leaves_out(tmp_path: Path) -> None:
    text = '[[block]]\narchitecture = "a2"\nseeds = 1\n'
    (cell,) = planned(tmp_path, text, seeds=5, profile="smoke", device="cpu", steps=None)
    assert (cell.job.profile, cell.job.seed, cell.job.mechanism) == ("smoke", 0, "ft9")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.toml: block: write 1 to 1000 blocks, each under [[block]]"),
        ("block = 3", "mine.toml: block: write 1 to 1000 blocks"),
        ("[[block]]\n", "mine.toml: block 1: architecture: missing: name some, such as a2"),
        ('[[block]]\narchitecture = "a9"', "mine.toml: block 1: unknown architecture 'a9'"),
        ("[[block]]\narchitecture = 2", "block 1: architecture: must be a name or a list of names"),
        (
            '[[block]]\narchitecture = "a2"\nintervall = 3',
            "block 1: unknown key 'intervall': known",
        ),
        (
            'intervall = 3\n[[block]]\narchitecture = "a2"',
            "block 1: unknown key 'intervall': known",
        ),
        ('[[block]]\narchitecture = "a2"\ninterval = []', "block 1: interval: an empty list"),
        ('[[block]]\narchitecture = "a2"\ninterval = true', "interval: must be a whole number"),
        ('[[block]]\narchitecture = "a2"\nseeds = 1.5', "seeds: must be a whole number, not 1.5"),
        ('[[block]]\narchitecture = "a2"\nseeds = 0', "block 1: the number of seeds must be from"),
        ('[[block]]\narchitecture = "a2"\nlead = 3', "block 1: lead: must be a text, not 3"),
        ('[[block]]\narchitecture = "a2"\npg-timeout = "3"', "block 1: pg-timeout: 3 has no unit"),
        ('[[block]]\narchitecture = "a2"\nway = "up"', "block 1: way: unknown way 'up': known are"),
        ('[[block]]\narchitecture = "a2"\ndevice = "tpu"', "device: unknown device 'tpu': known"),
        ('[[block]]\narchitecture = "a2"\n[[block]]\n', "block 2: architecture: missing"),
        ("[[block]\n", "mine.toml: not TOML: "),
        ("\x00", "mine.toml: not TOML: "),
    ],
)
def test_a_mistake_is_one_line_with_file_block_and_key(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        planned(tmp_path, text)
    message = str(caught.value)
    assert said in message
    assert message.startswith(str(tmp_path / "mine.toml"))
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not a table"),
        ('{"block": [1]}', "block 1: write keys such as architecture, not 1"),
        ('{"seeds": 1, "seeds": 2}', "not JSON: seeds is there twice"),
        ("{", "not JSON"),
        (" " * 100_001, "at most 100000 bytes"),
    ],
)
def test_a_mistake_in_json(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        planned(tmp_path, text, "mine.json")
    assert said in str(caught.value)


def test_the_schema_has_the_same_keys() -> None:
    import tomllib

    assert set(SCHEMA["$defs"]["keys"]["properties"]) == set(KEYS)
    jsonschema.validate(tomllib.loads(GOOD), SCHEMA)
    wrongs: list[Any] = [{}, {"block": []}, {"block": [{"intervall": 3}]}, {"block": [{}], "x": 1}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_one_request_for_each_combination_of_parameters() -> None:
    told = {"architecture": "a2", "mechanism": "ft1", "way": ["spare", "restart"], "replicas": None}
    found = requests_of({**told, "interval": [5, 10, 20]})
    assert [(each.way, each.interval_steps) for each in found] == [
        (way, steps) for steps in (5, 10, 20) for way in (Way.SPARE, Way.RESTART)
    ]


def test_how_many_states_are_kept_may_be_a_list(tmp_path: Path) -> None:
    text = "[[block]]\narchitecture = 'a2'\nmechanism = ['ft1', 'ft9']\nkeep = [2, 5]\n"
    cells = planned(tmp_path, text)
    assert [(cell.job.mechanism, cell.job.kept) for cell in cells] == [
        ("ft1", 2),
        ("ft9", None),
        ("ft1", 5),
    ]
