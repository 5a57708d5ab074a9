"""A cluster that is measured again under other software: two stacks, the older one marked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from db.errors import InvalidDataError, NotFoundError
from db.harvest import HarvestReport, harvest
from db.ingest import ingest
from db.queries import cluster_evidence, evidence_version, software_stacks
from db.rebuild import rebuild
from db.records import ClusterEvidence
from db.session import open_engine, reading
from db.stack_store import reinstate, successions, supersede
from db.stack_times import Measured, contradicted, measured_again
from tests.db import run_records
from tests.db.test_stacks import stacks

OLD, NEW = "mybox/torch-2.13.0+cpu", "mybox/torch-2.14.0+cpu"
_NEWER: dict[str, Any] = {"environment__torch": "2.14.0+cpu"}


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


def take(engine: Engine, folder: Path, *records: dict[str, Any]) -> HarvestReport:
    run_records.write(folder, *records)
    assert ingest(engine, folder).refused == ()
    return harvest(engine, "mybox")


def evidence(engine: Engine, cluster: str = "mybox") -> ClusterEvidence:
    with reading(engine) as connection:
        return cluster_evidence(connection, cluster)


def marks(engine: Engine) -> dict[str, str | None]:
    with reading(engine) as connection:
        found = software_stacks(connection, "mybox")
    return {name: stack.superseded_by for name, stack in found.items()}


def test_measured_again_later_the_old_points_are_kept_and_set_aside(
    engine: Engine, tmp_path: Path
) -> None:
    before = take(
        engine, tmp_path / "old", run_records.record(), run_records.record("a6", after_rate=12.0)
    )
    assert before.superseded == ()
    first = evidence(engine)
    assert first.set_aside == ()
    assert {p.superseded_by for p in first.points} == {None}
    report = take(engine, tmp_path / "new", run_records.record(seed=5, rate=80.0, **_NEWER))
    assert report.superseded == ((OLD, NEW),)
    assert marks(engine) == {OLD: NEW, NEW: None}
    found = evidence(engine)
    assert {(p.architecture, p.software_stack, p.superseded_by) for p in found.points} == {
        ("a2", NEW, None),
        ("a6", OLD, NEW),
    }
    assert [(p.architecture, p.superseded_by) for p in found.set_aside] == [("a2", NEW)]
    kept = {p.point_id for p in (*found.points, *found.set_aside)}
    assert {p.point_id for p in first.points} < kept
    assert evidence_version(found) != evidence_version(first)
    again = harvest(engine, "mybox")
    assert (again.superseded, again.unchanged) == ((), 3)


def test_the_order_of_ingest_does_not_matter(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "new", run_records.record(seed=5, **_NEWER))
    report = take(engine, tmp_path / "old", run_records.record())
    assert report.superseded == ((OLD, NEW),)


def test_both_at_once(engine: Engine, tmp_path: Path) -> None:
    records = (run_records.record(), run_records.record(seed=5, **_NEWER))
    assert take(engine, tmp_path, *records).superseded == ((OLD, NEW),)


def test_runs_that_overlap_in_time_are_left_to_a_person(engine: Engine, tmp_path: Path) -> None:
    records = [run_records.record(seed=seed) for seed in (0, 9)]
    report = take(engine, tmp_path, *records, run_records.record(seed=5, **_NEWER))
    assert report.superseded == ()
    assert marks(engine) == {OLD: None, NEW: None}
    assert len(evidence(engine).points) == 2
    assert supersede(engine, OLD, NEW) is None
    assert [p.software_stack for p in evidence(engine).points] == [NEW]


def test_a_mark_that_was_taken_off_stays_off(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path, run_records.record(), run_records.record(seed=5, **_NEWER))
    assert reinstate(engine, OLD) == NEW
    assert reinstate(engine, OLD) is None
    assert evidence(engine).set_aside == ()
    more = take(engine, tmp_path / "more", run_records.record(seed=6, **_NEWER))
    assert (more.updated, more.superseded) == (1, ())
    assert marks(engine) == {OLD: None, NEW: None}
    third: dict[str, Any] = {"environment__torch": "2.15.0+cpu"}
    report = take(engine, tmp_path / "third", run_records.record(seed=9, **third))
    latest = "mybox/torch-2.15.0+cpu"
    assert report.superseded == ((OLD, latest), (NEW, latest))


@pytest.mark.parametrize(
    ("name", "version", "stack"),
    [
        ("python", "3.12.1", f"{OLD},python-3.12.1"),
        ("cuda", "12.4", f"{OLD},python-3.11.2,cuda-12.4"),
        ("nccl", "2.21 rc 1", f"{OLD},python-3.11.2,nccl-2.21%20rc%201"),
    ],
)
def test_another_python_cuda_or_nccl_is_another_stack(
    engine: Engine, tmp_path: Path, name: str, version: str, stack: str
) -> None:
    other: dict[str, Any] = {f"environment__{name}": version}
    changed = run_records.record(seed=5, rate=80.0, **other)
    assert take(engine, tmp_path / "old", run_records.record()).added == 1
    report = take(engine, tmp_path / "new", changed)
    assert (report.added, report.updated, report.superseded) == (1, 0, ((OLD, stack),))
    (point,) = evidence(engine).points
    assert point.software_stack == stack
    found = evidence(engine).stacks[stack]
    assert getattr(found, name) == version
    assert getattr(evidence(engine).stacks[OLD], name) != version
    rebuilt = rebuild(engine)
    assert rebuilt.differed == ()
    assert [each.unchanged for each in rebuilt.harvests if each.cluster == "mybox"] == [2]


def test_mistakes_say_what_there_is(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path, run_records.record(), run_records.record(seed=5, **_NEWER))
    with pytest.raises(NotFoundError, match=f"there is .*{OLD.replace('+', '.')}"):
        supersede(engine, "nosuch", NEW)
    with pytest.raises(NotFoundError, match="no software stack 'nosuch'"):
        supersede(engine, OLD, "nosuch")
    with pytest.raises(NotFoundError, match="no software stack 'nosuch'"):
        reinstate(engine, "nosuch")
    with pytest.raises(InvalidDataError, match="of another cluster; those of 'mybox' are mybox"):
        supersede(engine, OLD, "matilda-8xv100/torch-2.3.0")
    with pytest.raises(InvalidDataError, match="cannot supersede itself"):
        supersede(engine, OLD, OLD)
    with pytest.raises(InvalidDataError, match=f"supersede --undo {OLD.replace('+', '.')}"):
        supersede(engine, NEW, OLD)
    assert marks(engine) == {OLD: NEW, NEW: None}


@pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)
def test_a_stack_that_comes_while_they_are_compared(
    engine: Engine, shipped_url: str, tmp_path: Path
) -> None:
    """From another process, between the two looks: the first of them does not know it yet."""
    run_records.write(tmp_path / "old", run_records.record())
    run_records.write(tmp_path / "new", run_records.record(seed=5, **_NEWER))
    assert len(ingest(engine, tmp_path / "old").new) == 1
    other = open_engine(shipped_url)
    came: list[int] = []

    def comes(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        is_look = "* FROM software_stacks" in statement or "MIN(r.started_at)" in statement
        if is_look and not came:
            came.append(len(ingest(other, tmp_path / "new").new))

    event.listen(engine, "after_cursor_execute", comes)
    assert harvest(engine, "mybox").superseded == ()
    assert came == [1]
    assert harvest(engine, "mybox").superseded == ((OLD, NEW),)
    other.dispose()


def test_software_that_was_gone_back_to_is_named(engine: Engine, tmp_path: Path) -> None:
    """Upgraded, measured once, and rolled back; the mark stays, and somebody has to be told."""
    take(engine, tmp_path / "1", run_records.record())
    upgraded = take(engine, tmp_path / "2", run_records.record(seed=5, **_NEWER))
    assert (upgraded.superseded, upgraded.contradicted) == (((OLD, NEW),), ())
    assert evidence(engine).gone_back_to == ()
    back = take(engine, tmp_path / "3", run_records.record(seed=9))
    assert (back.superseded, back.contradicted) == ((), ((OLD, NEW),))
    assert evidence(engine).gone_back_to == ((OLD, NEW),)
    assert [p.software_stack for p in evidence(engine).set_aside] == [OLD]
    # In turn: the mark is right about what is newest, and no harvest would make it.
    in_turn = take(engine, tmp_path / "4", run_records.record(seed=11, **_NEWER))
    assert in_turn.contradicted == ((OLD, NEW),)
    assert evidence(engine).gone_back_to == ()
    assert reinstate(engine, OLD) == NEW
    assert harvest(engine, "mybox").contradicted == ()
    assert len(evidence(engine).points) == 2


def measured(**spans: tuple[str, str]) -> list[Measured]:
    return [Measured(name, first, last) for name, (first, last) in spans.items()]


def test_each_stack_is_followed_by_the_next_one() -> None:
    found = measured(a=("1", "2"), b=("3", "4"), c=("5", "6"))
    known = stacks(a=None, b=None, c=None)
    assert successions(found, known, {"a", "b", "c"}) == (("a", "b"), ("b", "c"))
    assert successions(found, known, {"c"}) == (("a", "c"), ("b", "c"))
    assert successions(found, stacks(a="c", b=None, c=None), {"b"}) == (("b", "c"),)
    assert successions(found, known, set()) == ()


def test_no_ring_comes_about() -> None:
    """Somebody said that the one that was measured first is the newer one."""
    found = measured(a=("1", "2"), b=("3", "4"))
    assert successions(found, stacks(a=None, b="a"), {"a"}) == ()


def test_a_stack_at_the_very_end_of_another_overlaps_it() -> None:
    found = measured(a=("1", "3"), b=("3", "4"))
    assert successions(found, stacks(a=None, b=None), {"b"}) == ()


def test_a_mark_says_nothing_of_runs_that_are_elsewhere() -> None:
    found = measured(a=("1", "9"), b=("3", "4"), c=("5", "6"))
    known = stacks(a="b", b="c", c="d", d=None)
    assert contradicted(found, known) == measured_again(found, known) == (("a", "b"),)
    assert contradicted(measured(a=("1", "3"), b=("3", "4")), known) == (("a", "b"),)
    assert measured_again(measured(a=("1", "3"), b=("3", "4")), known) == ()
    assert contradicted(measured(a=("1", "2"), b=("3", "4")), known) == ()
