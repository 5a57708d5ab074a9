"""Every page: what it shows, how it says what is wrong, and that its state is in its address."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.defaults import DEFAULT_CLUSTER
from advisor.reports import next_words
from advisor.reports.words import BY_SCATTER
from app.form import job_mtbf
from app.router import PAGES
from app.views.sql import questions
from db.read_only import unique
from db.resources import resource_dir
from tests.app.conftest import Page, texts

_PATHS = [path for _, path, _, _ in PAGES]
CLUSTERS = sorted(path.stem for path in (resource_dir("data") / "clusters").glob("*.json"))


@pytest.mark.parametrize("path", _PATHS)
def test_every_page_draws(page: Page, path: str) -> None:
    shown = page(path)
    assert not shown.exception
    assert not shown.error
    assert shown.header


def test_recommend_says_the_answer_first(page: Page) -> None:
    shown = page("recommend")
    assert shown.header[0].value.startswith("FT1 Periodic disk checkpoint, a checkpoint every 358")
    assert "Runner-up: FT3" in texts(shown)
    assert shown.table[0].value.index[0] == "FT1 Periodic disk checkpoint"
    assert "Not offered" in [s.value for s in shown.subheader]


def test_recommend_says_how_far_each_rule_is_off(page: Page) -> None:
    shown = page("recommend")
    assert "not checked on this cluster: no mechanism was measured at two intervals" in texts(shown)
    shown.selectbox(key="architecture").set_value("a1-sync").run()
    assert "leave-one-out on this cluster: stall median 1.1 %, at most 10 %" in texts(shown)


def test_recommend_says_how_sure_it_is_and_what_to_measure_next(page: Page) -> None:
    shown = page("recommend")
    assert "FT1 is the best with a probability of 100 %; expected regret 0 s" in texts(shown)
    nothing = f"{BY_SCATTER}, measuring any one cell again cannot change the pick."
    assert nothing in texts(shown)
    shown.selectbox(key="cluster").set_value("2-cores-8-ranks").run()
    shown.text_input(key="mtbf").set_value("10m").run()
    assert not shown.exception
    assert "FT3 is the best with a probability of 84 %; expected regret 3 min" in texts(shown)
    assert "FT1: the best with a probability of 16 %" in texts(shown)
    (command,) = [c.value for c in shown.code if c.value.startswith("advisor measure")]
    assert "--mechanism ft3 --trace none" in command
    assert next_words.BASIS in [c.value for c in shown.caption]
    assert nothing not in texts(shown)


def test_native_degradation_has_no_probability(page: Page) -> None:
    shown = page("recommend", architecture="a6")
    assert not shown.exception
    assert "probability" not in texts(shown)
    assert next_words.TITLE not in [s.value for s in shown.subheader]


def test_an_input_changes_the_answer_at_once(page: Page) -> None:
    shown = page("recommend")
    shown.text_input(key="warning-lead").set_value("2s").run()
    assert shown.header[0].value.startswith("FT4 Just-in-time")
    shown.text_input(key="max-pause").set_value("1s").run()
    assert shown.header[0].value == "No mechanism satisfies every rule and limit."


def test_a_mistake_is_said_and_nothing_else_lost(page: Page) -> None:
    shown = page("recommend")
    shown.text_input(key="mtbf").set_value("4 parsecs").run()
    assert [e.value.partition(" is")[0] for e in shown.error] == ["MTBF: '4 parsecs'"]
    assert "write 112.3ms, 90s, 10m, 4h" in texts(shown)
    assert [i.value for i in shown.info] == [
        "The scenario in the sidebar is not complete: see MTBF."
    ]
    assert not shown.exception
    shown.text_input(key="mtbf").set_value("5h").run()
    assert not shown.error
    assert shown.header[0].value.startswith("FT1")


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_shipped_cluster_is_asked_about_its_own_state(page: Page, cluster: str) -> None:
    shown = page("recommend")
    chosen = shown.sidebar.selectbox(key="cluster")
    assert chosen.value == DEFAULT_CLUSTER
    assert set(chosen.options) == {DEFAULT_CLUSTER, *CLUSTERS}
    assert shown.text_input(key="state-size").value == "204.7MB"
    chosen.set_value(cluster).run()
    assert not shown.exception
    assert shown.text_input(key="state-size").value == ""
    assert dict(shown.query_params) == {"cluster": cluster}
    shown.selectbox(key="cluster").set_value(DEFAULT_CLUSTER).run()
    assert shown.text_input(key="state-size").value == "204.7MB"
    shown.text_input(key="state-size").set_value("1MB").run()
    shown.selectbox(key="cluster").set_value(cluster).run()
    assert shown.text_input(key="state-size").value == "1MB"


def test_mtbf_from_nodes(page: Page) -> None:
    shown = page("recommend")
    shown.text_input(key="nodes").set_value("64").run()
    shown.text_input(key="node-mtbf").set_value("32d").run()
    assumed = next(t.value for t in shown.table if "MTBF" in t.value.index)
    assert assumed.loc["MTBF"].iloc[0] == "12 h"
    assert job_mtbf("64", "32d") == "12h"


def test_frontier_names_dominators(page: Page) -> None:
    verdicts = page("frontier", warning_lead="2s", interval="measured").table[0].value["verdict"]
    assert verdicts["FT3 Asynchronous disk checkpoint"] == "dominated by FT1"
    assert verdicts["FT6 k-replica state redundancy"] == "dominated by FT2"
    assert list(verdicts).count("on the frontier") == 3


def test_frontier_of_native_degradation_says_why_it_is_empty(page: Page) -> None:
    assert "No candidate of this scenario has a cost" in texts(page("frontier", architecture="a6"))


def test_coverage_counts_and_reasons(page: Page) -> None:
    shown = page("coverage", runs_of="this cluster")
    assert "**0** observed, **52** analytical, **9** infeasible, **9** degenerate" in texts(shown)
    assert "full\\_rank\\_group" in "\n".join(shown.table[0].value["why"])
    assert len(shown.table[0].value) == 18
    shown.multiselect(key="states").set_value(["missing"]).run()
    assert len(shown.table[0].value) == 119


def test_operating_points_are_filtered(page: Page) -> None:
    shown = page("operating-points")
    everything = len(shown.dataframe[0].value)
    shown.multiselect(key="filter-mechanism").set_value(["ft2"]).run()
    chosen = shown.dataframe[0].value
    assert 0 < len(chosen) < everything
    assert set(chosen["mechanism"]) == {"ft2"}
    assert chosen["source_id"].notna().all()


def test_every_example_of_the_cookbook_runs(page: Page) -> None:
    assert len(questions()) == 11
    shown = page("sql")
    for question in questions():
        shown.selectbox(key="example").set_value(question.title).run()
        assert not shown.error, question.title
        assert len(shown.dataframe[0].value) > 0


@pytest.mark.parametrize(
    "statement",
    [
        "delete from runs",
        "attach database 'x' as y",
        "pragma writable_schema = on",
        "select 1; select 2",
        "selec",
        "with recursive r(n) as (select 1 union all select n from r) select count(*) from r",
    ],
)
def test_statements_that_write_attach_or_run_for_ever(
    page: Page, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.views.sql._TIME_LIMIT_S", 0.5)
    shown = page("sql", q=statement)
    assert not shown.exception
    assert len(shown.error) == 1
    assert not shown.dataframe


def test_an_emptied_field_stays_empty(page: Page) -> None:
    shown = page("recommend", mtbf="")
    assert shown.text_input(key="mtbf").value == ""
    assert "MTBF is needed" in texts(shown)


def test_absurd_numbers_of_nodes(page: Page) -> None:
    shown = page("recommend", nodes="9" * 5000, node_mtbf="180d")
    assert not shown.exception
    assert "is not a number of nodes" in texts(shown)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"nodes": "5"}, "MTBF of a node is needed too"),
        ({"nodes": "5", "mtbf": ""}, "MTBF of a node is needed too"),
        ({"node_mtbf": "180d", "mtbf": "4 parsecs"}, "Nodes is needed too"),
        ({"nodes": "64", "node_mtbf": "soon"}, "MTBF of a node: 'soon' is not a duration"),
        ({"nodes": "999999999", "node_mtbf": "1s"}, "MTBF of a node: the MTBF is"),
        ({"mtbf": "1us"}, "MTBF: the MTBF is"),
        ({"max_pause": "soon"}, "Longest pause: 'soon' is not a duration"),
        ({"warning_coverage": "90%"}, "a warning coverage needs a warning lead"),
    ],
)
def test_a_mistake_is_said_once(page: Page, address: dict[str, str], said: str) -> None:
    shown = page("recommend", **address)
    assert [said in e.value for e in shown.error] == [True]
    assert [i.value.partition(":")[0] for i in shown.info] == [
        "The scenario in the sidebar is not complete"
    ]


def test_nodes_decide_whatever_the_mtbf_field_holds(page: Page) -> None:
    shown = page("recommend", nodes="64", node_mtbf="32d", mtbf="4 parsecs")
    assert not shown.error
    assert shown.text_input(key="mtbf").value == "4 parsecs"
    assert shown.header[0].value == page("recommend", mtbf="12h").header[0].value


def test_limits_of_a_statement_are_said_in_the_words_of_the_page(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select {} from r"
    monkeypatch.setattr("app.views.sql._TIME_LIMIT_S", 0.2)
    slow = page("sql", q=endless.format("count(*)"))
    assert "took too long: narrow it. This page gives a statement 0.2 s." in slow.error[0].value
    monkeypatch.setattr("app.views.sql._TIME_LIMIT_S", 10.0)
    monkeypatch.setattr("db.read_only.LARGEST_RESULT_BYTES", 20_000)
    large = page("sql", q=endless.format("n"))
    assert "about 64 MB, there are more" in texts(large)
    assert len(large.dataframe[0].value) < 5_000
    monkeypatch.undo()
    many = page("sql", q=endless.format("n") + " limit 6000")
    assert "5,000 rows: the first ones, there are more." in texts(many)
    assert "NUL character" in page("sql", q="select 1\x00").error[0].value


def test_columns_of_any_mixture_are_shown(page: Page) -> None:
    for statement in (
        "select x'00ff' as b, 9223372036854775807 as big union all select 'text', 'x'",
        'select 1 as a, 2 as b, 3 as a, 4 as "a (2)"',
    ):
        shown = page("sql", q=statement)
        assert not shown.exception
        assert len(shown.dataframe[0].value) > 0


def test_a_crafted_link_brings_no_image(page: Page) -> None:
    shown = page("sql", q="select `![x](http://h/y.png)` from clusters")
    assert "![x]" not in shown.error[0].value


def test_names_in_the_address_may_be_upper_case(page: Page) -> None:
    shown = page("recommend", architecture="A4", state_size="2567MB")
    assert not shown.warning or "asks for" not in str(shown.warning[0].value)
    assert shown.selectbox(key="architecture").value == "a4"


def test_columns_of_one_name_are_told_apart() -> None:
    assert unique(("n", "n", "m")) == ["n", "n (2)", "m"]


@pytest.fixture
def own_database(shipped_database: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copy(shipped_database, tmp_path / "own.db"))


def test_save_open_and_compare(page: Page, own_database: Path) -> None:
    asked = page("recommend", own_database)
    asked.button(key="save").click().run()
    assert "Saved as" in texts(asked)
    asked.text_input(key="mtbf").set_value("1h").run()
    asked.button(key="save").click().run()
    saved = page("saved", own_database)
    assert not saved.error
    buttons = [getattr(button, "label", "") for button in saved.get("download_button")]
    assert buttons[:4] == ["Report (HTML)", "Markdown", "JSON", "CSV"]
    assert buttons[4:] == ["Report (PDF)"] or "no browser" in texts(saved)
    ids = saved.selectbox(key="id").options
    assert len(ids) == 2
    saved.selectbox(key="with").set_value(ids[1]).run()
    assert "Inputs that differ" in [s.value for s in saved.subheader]
    assert list(saved.table[0].value.loc["MTBF"]) in (["1 h", "4 h"], ["4 h", "1 h"])


def test_files_are_made_when_they_are_asked_for(
    page: Page, own_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def early(*_: object) -> None:
        raise AssertionError("made although nobody clicked")

    monkeypatch.setattr("app.views.saved.make_saved_report", early)
    monkeypatch.setattr("app.views.recommend.make_report", early)
    asked = page("recommend", own_database)
    asked.button(key="save").click().run()
    assert not asked.exception
    assert not page("saved", own_database).exception


def test_an_empty_database_names_the_command(page: Page, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    assert run(["db", "upgrade", "--db", str(empty)]) == 0
    shown = page("recommend", empty)
    assert "advisor db load" in texts(shown)
    assert not shown.exception


def test_a_lost_database_is_said_and_comes_back(page: Page, own_database: Path) -> None:
    shown = page("recommend", own_database, max_pause="700s")
    hidden = own_database.rename(own_database.with_suffix(".away"))
    shown.run()
    assert "no such file" in texts(shown)
    assert not shown.exception
    hidden.rename(own_database)
    shown.run()
    assert not shown.error
    assert shown.text_input(key="max-pause").value == "700s"
    assert shown.header[0].value.startswith("FT1")


def test_another_schema_names_the_command(page: Page, own_database: Path) -> None:
    with closing(sqlite3.connect(own_database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    shown = page("recommend", own_database)
    assert "unknown to this version (revision 9999; this version knows up to" in texts(shown)
    assert "pip install" in texts(shown)


def test_new_measurements_are_seen_without_a_restart(page: Page, own_database: Path) -> None:
    shown = page("recommend", own_database)
    before = shown.header[0].value
    with closing(sqlite3.connect(own_database)) as connection:
        connection.execute(
            "UPDATE operating_point_values SET value = 0.5 "
            "WHERE quantity = 'overhead_fraction' AND point_id LIKE '%/a2/ft1/%'"
        )
        connection.commit()
    shown.run()
    assert shown.header[0].value != before
    assert shown.header[0].value.startswith("FT3")


def test_a_database_that_is_being_written_to_is_read(page: Page, own_database: Path) -> None:
    with closing(sqlite3.connect(own_database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE clusters SET description = 'half written'")
        shown = page("recommend", own_database)
        assert not shown.error
        assert shown.header[0].value.startswith("FT1")
        writer.execute("ROLLBACK")


def test_names_with_scripts_come_out_as_text(page: Page, own_database: Path) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:alert(1)) **b**"
    with closing(sqlite3.connect(own_database)) as connection:
        connection.execute("UPDATE mechanisms SET name = ? WHERE mechanism = 'ft1'", (hostile,))
        connection.commit()
    shown = page("recommend", own_database)
    assert not shown.exception
    heading = shown.header[0].value
    assert "\\<script\\>" in heading
    assert "\\[x\\]" in heading
    assert "\\*\\*b" in heading


def test_two_sessions_do_not_share_inputs(page: Page) -> None:
    one, other = page("recommend"), page("recommend")
    one.text_input(key="mtbf").set_value("1h").run()
    other.run()
    assert other.text_input(key="mtbf").value == "4h"
    assert one.header[0].value != other.header[0].value
