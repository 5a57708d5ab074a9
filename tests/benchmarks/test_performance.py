"""The performance figures, as ratios of alternated runs in one process: `make benchmark`.

Not part of the test suite: the machine decides the figures. Each prints what it measured.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import moocore
import numpy as np
import pytest

from advisor.optimizer import Conditions, CostModel, evaluate, sweep
from advisor.pareto import pareto_front
from advisor.scenario import IntervalPolicy, ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

_SCENARIOS = 1_000_000
_LOOPED = 2_000
_SEED = 20261129


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternated(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> list[tuple[float, float]]:
    """Both in turn, so that a slow spell of the machine hits both."""
    first()
    second()
    return [(seconds(first), seconds(second)) for _ in range(rounds)]


def test_a_million_scenarios_against_the_scalar_function(matilda: ClusterEvidence) -> None:
    answer = recommend(
        matilda,
        ScenarioInput(
            architecture="a2",
            state_bytes=204_700_000,
            mtbf_s=14400.0,
            warning_lead_s=2.0,
            interval=IntervalPolicy.AUTO,
        ),
    )
    models = [c.model for c in answer.candidates if c.model is not None]
    random = np.random.default_rng(_SEED)
    mtbf_s = 10 ** random.uniform(2, 7, _SCENARIOS)
    step_s = 10 ** random.uniform(-2, 0, _SCENARIOS)

    def conditions(rows: slice | int) -> Conditions:
        return Conditions(2.6e6, mtbf_s[rows], step_s[rows], 600.0, 5.0, 0.0, 0.05)

    def vectorised() -> None:
        sweep(models, conditions(slice(None)))

    def looped() -> None:
        for row in range(_LOOPED):
            best_scalar(models, conditions(row))

    rounds = alternated(vectorised, looped, 5)
    sweep_s = median(a for a, _ in rounds)
    ratio = median(b * _SCENARIOS / _LOOPED / a for a, b in rounds)
    print(f"\n1e6 scenarios x {len(models)} candidates: {sweep_s:.3f} s, {ratio:.0f} times")
    assert ratio >= 200


def best_scalar(models: list[CostModel], conditions: Conditions) -> float:
    return min(float(evaluate(model, conditions).expected_s) for model in models)


def test_pareto_against_the_kernel_itself() -> None:
    points = np.random.default_rng(_SEED).random((100_000, 3))
    rounds = alternated(
        lambda: pareto_front(points),
        lambda: moocore.is_nondominated(points, keep_weakly=True),
        15,
    )
    ratio = median(a / b for a, b in rounds)
    print(f"\nPareto of 1e5 x 3: {median(a for a, _ in rounds):.4f} s, {ratio:.2f} of moocore")
    assert ratio <= 1.2


def test_recommend_cold_against_importing_sqlalchemy(shipped_database: Path) -> None:
    ask = ["recommend", "--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h"]
    advisor = [sys.executable, "-m", "advisor", *ask, "--db", str(shipped_database)]
    reference = [sys.executable, "-c", "import sqlalchemy"]
    rounds = alternated(
        lambda: subprocess.run(advisor, check=True, capture_output=True),
        lambda: subprocess.run(reference, check=True, capture_output=True),
        11,
    )
    ratio = median(a / b for a, b in rounds)
    print(f"\nrecommend, whole process: {median(a for a, _ in rounds):.3f} s, {ratio:.2f} times")
    assert ratio <= 3.0
