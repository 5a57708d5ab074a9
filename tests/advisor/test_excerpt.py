"""Answers from an excerpt of very many points: each prediction starts from the measurement that it
would start from if all had been read, and the answer says what it rests on."""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Connection, Engine

from advisor.cli import run
from advisor.errors import UserError
from advisor.evidence import answer, ask, every_evidence, load_evidence, near_to, opened
from advisor.prediction.outcome import NoPredictionError
from advisor.prediction.predict import predict
from advisor.prediction.reference import reference
from advisor.prediction.trail import Trail
from advisor.scenario import (
    FailureRegime,
    FewerRanks,
    IntervalPolicy,
    RestoreBasis,
    Scenario,
    ScenarioInput,
)
from db import queries
from db.excerpt import EXCERPT_POINTS, MOST_POINTS, Near
from db.queries import evidence_version
from db.records import Cadence, ClusterEvidence, Mechanism, OperatingPoint, Quantity
from db.session import open_engine, writing
from tests.db.random_points import SIZES_BYTES, insert_random_points

CLUSTER = "matilda-8xv100"
SEED = 20261201
QUESTION = ["--architecture", "a2", "--state-size", "200MB", "--mtbf", "4h"]


@pytest.fixture(scope="module")
def large(shipped_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped clusters, one of them with many points more."""
    path = tmp_path_factory.mktemp("large") / "advisor.db"
    shutil.copy(shipped_database, path)
    engine = open_engine(str(path))
    with writing(engine) as connection:
        insert_random_points(connection, Random(SEED), CLUSTER, MOST_POINTS + 500)
    engine.dispose()
    return path


@pytest.fixture
def engine(large: Path) -> Iterator[Engine]:
    with opened(str(large)) as found:
        yield found


@pytest.fixture(scope="module")
def whole(large: Path) -> ClusterEvidence:
    with opened(str(large)) as engine:
        return load_evidence(engine, CLUSTER)


def scenario(
    architecture: str, state_bytes: int, interval: int | IntervalPolicy = IntervalPolicy.AUTO
) -> Scenario:
    return Scenario(
        cluster=CLUSTER,
        architecture=architecture,
        state_bytes=state_bytes,
        mtbf_s=4 * 3600.0,
        step_time_s=0.1,
        duration_s=30 * 86400.0,
        detection_s=10.0,
        regroup_s=5.0,
        init_s=0.0,
        interval=interval,
        failure_regime=FailureRegime.SINGLE,
        restore_basis=RestoreBasis.PUBLISHED,
        fewer_ranks=FewerRanks.REFUSE,
    )


def predictable(evidence: ClusterEvidence) -> list[Mechanism]:
    unpriced = (Cadence.NEVER, Cadence.AFTER_FAILURE)
    return [m for m in evidence.mechanisms.values() if m.cadence not in unpriced]


def outcome(predicted: Callable[..., object], *arguments: object) -> object:
    try:
        return predicted(*arguments)
    except NoPredictionError as refusal:
        return refusal.reason


def started_from(
    evidence: ClusterEvidence, asked: Scenario, mechanism: Mechanism, needed: Quantity | None
) -> str:
    return reference(evidence, asked, mechanism, needed, Trail()).point_id


def test_a_prediction_starts_from_the_same_measurement(
    engine: Engine, whole: ClusterEvidence
) -> None:
    random, started = Random(SEED), set()
    for _ in range(15):
        size = random.choice((*SIZES_BYTES, 50_001_000, random.randrange(10**7, 2 * 10**9)))
        interval = random.choice((10, 100, 35, IntervalPolicy.AUTO))
        asked = scenario(random.choice(("a2", "a3")), size, interval)
        part = load_evidence(engine, CLUSTER, near_to(asked))
        assert part.excerpt is not None
        assert part.excerpt.read <= EXCERPT_POINTS < part.excerpt.held
        for mechanism in predictable(whole):
            for needed in (None, Quantity.OVERHEAD, Quantity.SAVE):
                of_whole, of_part = (
                    outcome(started_from, each, asked, mechanism, needed) for each in (whole, part)
                )
                assert of_part == of_whole, (asked, mechanism.mechanism_id, needed)
                started.add(of_whole)
    assert len(started) > 20


def test_where_the_architectures_fit_they_are_read_whole(
    engine: Engine, whole: ClusterEvidence
) -> None:
    """At a size that every mechanism was measured at a prediction needs nothing else, and is the
    same in every number."""
    for size in SIZES_BYTES:
        asked = scenario("a7", size)
        part = load_evidence(engine, CLUSTER, near_to(asked))
        assert part.excerpt is not None
        assert part.excerpt.read == part.excerpt.held < EXCERPT_POINTS
        for mechanism in predictable(whole):
            of_whole, of_part = (outcome(predict, each, asked, mechanism) for each in (whole, part))
            assert of_part == of_whole


def test_the_answer_says_what_it_rests_on(
    large: Path, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["recommend", *QUESTION, "--format", "json", "--db", str(large)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["selected"] is not None
    (said,) = [words for words in document["warnings"] if "very many" in words]
    question = ask(engine, ScenarioInput("a2", 200_000_000, 4 * 3600.0))
    part = question.evidence.excerpt
    assert part is not None
    held = f"of the {part.held:,} operating points of A2, A1-SYNC, A3 that count"
    assert f"{held}, {part.read:,} of every kind" in said
    assert "those nearest to 200 MB a rank" in said
    # Read again for a saved answer, the evidence counts as the same.
    found = answer(question)
    again = load_evidence(engine, CLUSTER, near_to(found.scenario))
    assert found.versions.data_version == evidence_version(again)


def test_a_cluster_with_few_points_says_nothing_of_it(matilda: ClusterEvidence) -> None:
    assert matilda.excerpt is None


def test_a_state_size_that_is_left_out(large: Path, tmp_path: Path, engine: Engine) -> None:
    """The only size that was measured, as ever; of several the answer asks for it."""
    inputs = ScenarioInput("a2", None, 4 * 3600.0)
    with pytest.raises(UserError, match="state-size is missing"):
        ask(engine, inputs)
    one = tmp_path / "one.db"
    shutil.copy(large, one)
    with opened(str(one)) as same_size:
        with writing(same_size) as connection:
            connection.exec_driver_sql(
                "UPDATE operating_points SET state_bytes = 200000000 + length(point_id) % 3 * 1000 "
                "WHERE architecture = 'a2'"
            )
        question = ask(same_size, inputs)
    assert question.scenario.state_bytes == 200_002_000
    assert question.evidence.excerpt is not None
    assert question.evidence.excerpt.state_bytes == 200_002_000


def test_every_cluster_is_asked_the_same(engine: Engine) -> None:
    found = every_evidence(engine, Near("a2", 200_000_000))
    assert {e.cluster.cluster: e.excerpt is not None for e in found}[CLUSTER]
    assert [e.excerpt is not None for e in found].count(True) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["pareto", "--architecture", "a2", "--cluster", CLUSTER],
        ["crossover", "ft1", "ft2", "--state-size", "200MB", "--cluster", CLUSTER],
        ["clusters", "recommend", *QUESTION, "--no-uncertainty", "--format", "json"],
    ],
    ids=["pareto", "crossover", "clusters"],
)
def test_other_questions_read_an_excerpt_too(
    large: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    """Nothing reads all of the points; and who asked is told."""
    read: list[str] = []
    of_all = queries.operating_points

    def noted(connection: Connection, cluster: str) -> tuple[OperatingPoint, ...]:
        read.append(cluster)
        return of_all(connection, cluster)

    monkeypatch.setattr(queries, "operating_points", noted)
    assert run([*command, "--db", str(large)]) == 0, capsys.readouterr()
    assert CLUSTER not in read
    assert "very many operating points" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "command",
    [
        ["recommend", *QUESTION],
        ["pareto", "--architecture", "a2", "--cluster", CLUSTER],
        ["crossover", "ft1", "ft2", "--state-size", "200MB", "--cluster", CLUSTER],
    ],
    ids=["recommend", "pareto", "crossover"],
)
def test_programs_are_told_too(
    large: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """JSON has it in its warnings; beside CSV it is on stderr, and the file stays a table."""
    assert run([*command, "--db", str(large), "--format", "json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    (said,) = [words for words in warnings if "very many operating points" in words]
    assert run([*command, "--db", str(large), "--format", "csv"]) == 0
    shown = capsys.readouterr()
    assert shown.err == f"{said}\n"
    assert said not in shown.out
    rows = list(csv.reader(shown.out.splitlines()))
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1
