"""How far the pairs of a campaign are, from cells made by hand; and the matrix drawn of them."""

from advisor.campaign_progress import PARTLY, PairProgress, pair_progress
from advisor.figures.campaign import campaign_matrix
from db.campaign_queries import CellSummary
from db.records import CellStatus

COMPLETE, FAILED, RUNNING = CellStatus.COMPLETE, CellStatus.FAILED, CellStatus.RUNNING
STALE, PENDING = CellStatus.STALE, CellStatus.PENDING


def cell(
    status: CellStatus, architecture: str = "a2", mechanism: str = "ft1", trace: str | None = "F1"
) -> CellSummary:
    return CellSummary(
        ordinal=1,
        run_id="c/x",
        architecture=architecture,
        mechanism=mechanism,
        trace=trace,
        seed=0,
        status=status,
        attempts=1,
        host=None,
        pid=None,
        heartbeat_at=None,
        started_at=None,
        finished_at=None,
        wall_s=None,
        reason="",
    )


def pair(*statuses: CellStatus) -> PairProgress:
    (found,) = pair_progress([cell(status) for status in statuses])
    return found


def test_the_state_of_a_pair_is_what_a_reader_should_know_first() -> None:
    assert pair(PENDING, PENDING).state == "pending"
    assert pair(COMPLETE, PENDING).state == PARTLY
    assert pair(COMPLETE, COMPLETE).state == "complete"
    assert pair(COMPLETE, STALE, PENDING).state == "stale"
    assert pair(COMPLETE, STALE, FAILED).state == "failed"
    assert pair(COMPLETE, FAILED, RUNNING).state == "running"


def test_failed_cells_are_done_too() -> None:
    found = pair(COMPLETE, FAILED, STALE, PENDING)
    assert (found.done, found.planned) == (2, 4)


def test_pairs_in_order_and_their_traces() -> None:
    cells = [
        cell(PENDING, "a6", "ft1"),
        cell(COMPLETE, "a2", "ft4+ft1"),
        cell(COMPLETE, "a2", "ft1", None),
        cell(RUNNING, "a2", "ft1"),
    ]
    found = pair_progress(cells)
    assert [(each.architecture, each.mechanism) for each in found] == [
        *(("a2", "ft1"), ("a2", "ft4+ft1"), ("a6", "ft1")),
    ]
    assert found[0].words == "F1: 1 running; none: 1 complete"


def test_the_matrix_tells_states_apart_without_colours() -> None:
    cells = [
        *(cell(status) for status in (COMPLETE, FAILED, RUNNING, PENDING)),
        cell(STALE, "a2", "ft4"),
        cell(COMPLETE, "a6", "ft4"),
    ]
    squares, *legend = campaign_matrix(pair_progress(cells)).data
    assert list(squares.x) == ["FT1", "FT4"]
    assert list(squares.y) == ["A2", "A6"]
    assert [list(row) for row in squares.text] == [["2/4<br>»1×1", "0/1<br>!1"], ["", "1/1"]]
    assert squares.z[1][0] is None
    assert len({state for row in squares.z for state in row if state is not None}) == 3
    names = " ".join(each.name for each in legend)
    assert all(mark in names for mark in "»×!")


def test_names_cannot_bring_markup() -> None:
    drawn = campaign_matrix(pair_progress([cell(PENDING, trace="<b>%{x}</b>")])).to_json()
    assert "<b>" not in drawn.replace("\\u003c", "<")
