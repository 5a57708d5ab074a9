"""When a tuple is known well enough, with made-up runs."""

import random
from typing import Any

import pytest

from advisor.seeds import more_seeds, runs_to_add
from db.campaign_store import PlannedCell, Target
from db.pooling import mean_of
from db.records import CellStatus, RunQuantity, RunSummary, RunValidity

TARGET = Target(0.05, 3, 20)


@pytest.mark.parametrize(
    ("values", "planned", "added"),
    [
        ([], 3, 0),  # nothing to be measured: it halts, or cannot run
        ([10.0], 1, 1),  # one run has no interval
        ([10.0, 10.0], 2, 0),
        ([10.0, 10.1, 9.9], 3, 0),  # ± 2.5 %
        ([10.0, 14.0, 6.0], 3, 3),  # far from it: as many again
        ([10.0, 10.4, 9.6], 3, 3),
        ([10.0, 10.3, 9.7], 3, 3),  # ± 7.5 %: 3 (1.5)^2 = 6.7 runs
        ([10.0, 14.0, 6.0], 19, 1),  # the cap
        ([10.0, 14.0, 6.0], 20, 0),
        ([10.0, 14.0, 6.0], 25, 0),
        ([0.0, 0.0, 0.0], 3, 0),
        ([1.0, -1.0], 2, 2),  # a mean of 0 has no share: up to the cap
    ],
)
def test_how_many_more(values: list[float], planned: int, added: int) -> None:
    assert runs_to_add(values, planned, TARGET) == added


@pytest.mark.parametrize("seed", range(10))
def test_it_ends_at_the_target_or_at_the_cap(seed: int) -> None:
    random_ = random.Random(seed)
    spread = random_.uniform(0.01, 0.5)
    values = [random_.gauss(1.0, spread) for _ in range(TARGET.least)]
    while added := runs_to_add(values, len(values), TARGET):
        values += [random_.gauss(1.0, spread) for _ in range(added)]
    mean = mean_of(values)
    assert mean is not None
    assert mean.half_width is not None
    is_known = mean.half_width <= TARGET.fraction * abs(mean.value)
    assert is_known or len(values) == TARGET.most


def cell(stem: str, seed: int) -> PlannedCell:
    told: dict[str, Any] = {
        "run_id": f"c/{stem}-s{seed}",
        "seed": seed,
        "job": {"steps": 9, "seed": seed},
    }
    return PlannedCell(
        told["run_id"], "a2", "ft1", None, seed, CellStatus.COMPLETE, 1.0, dict(told)
    )


def run(run_id: str, value: float | None, validity: RunValidity = RunValidity.VALID) -> RunSummary:
    found: dict[str, Any] = dict.fromkeys(RunSummary.__dataclass_fields__)
    quantities = {RunQuantity.OVERHEAD: value}
    return RunSummary(**{**found, "run_id": run_id, "validity": validity, "values": quantities})


def test_more_cells_are_those_of_the_tuples_that_vary_under_new_seeds() -> None:
    planned = [cell(stem, seed) for seed in (4, 5) for stem in ("steady", "wild", "silent")]
    values = {"steady": (0.1, 0.1), "wild": (0.1, 0.4), "silent": (None, None)}
    runs = [
        run(f"c/{stem}-s{4 + number}", value)
        for stem, several in values.items()
        for number, value in enumerate(several)
    ]
    added = more_seeds(planned, runs, TARGET)
    assert [(each["run_id"], each["seed"]) for each in added] == [
        ("c/wild-s6", 6),
        ("c/wild-s7", 7),
    ]
    assert added[0]["job"] == {"steps": 9, "seed": 6, "run_id": "c/wild-s6"}


def test_runs_that_are_no_evidence_count_towards_the_cap_only() -> None:
    planned = [cell("odd", seed) for seed in range(3)]
    runs = [run("c/odd-s0", 1.0)]
    runs += [run(f"c/odd-s{seed}", 9.0, RunValidity.INVALID) for seed in (1, 2)]
    assert len(more_seeds(planned, runs, TARGET)) == 1
    assert more_seeds(planned, runs, Target(0.05, 1, 3)) == []
