"""The command line: answers, mistakes in one line with exit code 2, nothing written by mistake."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.cli import run

Advisor = Callable[..., tuple[int, str, str]]
_ASK = ("--architecture", "a2", "--state-size", "204.7MB", "--mtbf", "4h")


@pytest.fixture
def advisor(
    shipped_database: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Advisor:
    """Runs a command against the shipped data: (exit code, stdout, stderr)."""
    monkeypatch.setenv("ADVISOR_DB_URL", str(shipped_database))

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(arguments))
        return code, *capsys.readouterr()

    return call


def asked(advisor: Advisor, *more: str) -> dict[str, Any]:
    code, out, err = advisor("recommend", *_ASK, "--format", "json", *more)
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    return document


def test_three_arguments_give_a_whole_answer(advisor: Advisor) -> None:
    document = asked(advisor)
    assert document["selected"]["mechanism"] == "ft1"
    assert document["runner_up"]["mechanism"] == "ft3"
    assert document["margin"]["time_s"] > 0
    assert {"cluster", "step_time_s", "duration_s", "detection_s"} <= document["assumed"].keys()
    assert "Table V" in document["assumed"]["step_time_s"]
    assert document["scenario"]["step_time_s"] == pytest.approx(0.1123, abs=1e-4)
    assert document["sources"][0]["source_id"] == "failbench-2026"


def test_the_example_of_the_readme_in_full(advisor: Advisor) -> None:
    document = asked(
        advisor,
        *("--cluster", "matilda-8xv100", "--step-time", "112.3ms", "--duration", "30d"),
        *("--mechanism", "ft1,ft2,ft4", "--interval", "100", "--max-overhead", "5%"),
        *("--max-restore", "1s", "--max-pause", "700s", "--warning-lead", "2s"),
        *("--warning-coverage", "100%", "--failure-regime", "single"),
        *("--storage-write", "1.37GB/s", "--host-memory", "192GB"),
        *("--detection", "600s", "--regroup", "5s"),
    )
    assert document["selected"]["mechanism"] == "ft4"
    assert [c["mechanism"] for c in document["candidates"]] == ["ft4", "ft1", "ft2"]
    # 30 d x (1 + (600 + 5 + 0.90176) / 14400)
    expected = 30 * 86400 * (1 + (605 + 0.8847 + 0.01706) / 14400)
    assert document["selected"]["expected_completion_s"] == pytest.approx(expected, rel=1e-6)


def test_upper_case_names_are_fine(advisor: Advisor) -> None:
    code, out, _ = advisor(
        "recommend", "--architecture", "A2", "--state-size", "204.7MB", "--mtbf", "4h",
        "--mechanism", "FT1", "--format", "csv",
    )  # fmt: skip
    assert code == 0
    assert "ft1,selected" in out


def test_nothing_satisfies_the_limits_is_an_answer(advisor: Advisor) -> None:
    document = asked(advisor, "--max-pause", "1s")
    assert document["selected"] is None
    assert document["candidates"] == []
    assert all(e["reason"] for e in document["excluded"])
    code, out, _ = advisor("recommend", *_ASK, "--max-pause", "1s")
    assert code == 0
    assert out.startswith("No mechanism satisfies every rule and limit.")


def test_crossover_of_the_paper(advisor: Advisor) -> None:
    code, out, _ = advisor("crossover", "ft1", "ft2", "--format", "json")
    assert code == 0
    published, calibrated = json.loads(out)["crossovers"]
    assert published["shortcut_mtbf_s"] == pytest.approx(4.2, abs=0.05)
    assert calibrated["shortcut_mtbf_s"] == pytest.approx(9.7, abs=0.05)
    assert published["mtbf_s"] is None
    assert calibrated["mtbf_s"] is None
    assert published["a_lost_s"] == pytest.approx(50 * 32 / 284.9, rel=1e-6)


def test_crossover_with_a_free_interval(advisor: Advisor) -> None:
    code, out, _ = advisor(
        "crossover", "ft1", "ft4", "--interval", "auto", "--mtbf", "4h", "--format", "json"
    )
    assert code == 0
    assert json.loads(out)["crossovers"][0]["faster_below"] == "ft4"


def test_pareto_of_rq2(advisor: Advisor) -> None:
    code, out, _ = advisor("pareto", "--architecture", "a2", "--format", "json")
    assert code == 0
    points = {p["mechanism"]: p for p in json.loads(out)["points"]}
    assert {m for m, p in points.items() if p["on_frontier"]} == {"ft1", "ft2", "ft4"}
    assert {m: p["dominated_by"] for m, p in points.items() if p["dominated_by"]} == {
        "ft3": "ft1", "ft5": "ft2", "ft6": "ft2",
    }  # fmt: skip


@pytest.mark.parametrize("axes", ["overhead", "expected-time,host-memory", "lost-work,restore"])
def test_pareto_over_any_axes(advisor: Advisor, axes: str) -> None:
    code, out, _ = advisor("pareto", "--architecture", "a2", "--axes", axes, "--mtbf", "4h")
    assert code == 0
    assert "on the frontier" in out


def test_interval_of_the_note(advisor: Advisor) -> None:
    code, out, _ = advisor("interval", "--save-time", "60s", "--mtbf", "4h")
    assert code == 0
    assert re.search(r"young .*21\.9 min", out)


def test_saved_answers_are_printed_again(advisor: Advisor) -> None:
    code, first, err = advisor("recommend", *_ASK, "--save")
    assert code == 0
    found = re.search(r"saved as (\S+):", err)
    assert found
    code, again, _ = advisor("report", found.group(1))
    assert (code, again) == (0, first)
    code, markdown, _ = advisor("report", found.group(1), "--format", "markdown")
    assert code == 0
    assert markdown.startswith("# FT1")
    code, listed, _ = advisor("report")
    assert code == 0
    assert found.group(1) in listed


def test_sql_reads_and_does_not_write(advisor: Advisor) -> None:
    code, out, _ = advisor("sql", "select count(*) as n from mechanisms", "--format", "csv")
    assert (code, out) == (0, "n\n9\n")
    code, out, _ = advisor("sql", "select 1 as a, 2 as a, x'ff' as b", "--format", "json")
    assert json.loads(out) == [{"a": 1, "a (2)": 2, "b": "ff"}]
    for statement in ("delete from mechanisms", "drop view frontier_view", "selec 1", ""):
        code, out, err = advisor("sql", statement)
        assert code == 2
        assert out == ""
        assert err.count("\n") == 1


def test_the_bare_command_prints_its_help(advisor: Advisor) -> None:
    code, out, err = advisor()
    assert (code, err) == (0, "")
    assert "Commands:" in out


def test_help_of_every_command(advisor: Advisor) -> None:
    code, out, _ = advisor("--help")
    assert code == 0
    for name in ("recommend", "pareto", "crossover", "interval", "report", "clusters", "sql", "db"):
        assert name in out
        assert advisor(name, "--help")[0] == 0


_MISTAKES = [
    (("recommend", *_ASK[:4], "--mtbf", "-4h"), "positive"),
    (("recommend", *_ASK[:4], "--mtbf", "4 parsecs"), "write 112.3ms, 90s, 10m, 4h"),
    (("recommend", *_ASK[:4], "--mtbf", "600"), "write 600s, 600m or 600h"),
    (("recommend", *_ASK[:4], "--mtbf", "0s"), "the MTBF is 0 s: it must be from 1 ms"),
    (("recommend", *_ASK[:4]), "--mtbf"),
    (("recommend", *_ASK, "--cluster", "nowhere"), "matilda-8xv100"),
    (
        ("recommend", *_ASK, "--warning-lead", "2s", "--warning-coverage", "101%"),
        "from 0 % to 100 %",
    ),
    (("recommend", *_ASK, "--warning-coverage", "50%"), "lead"),
    (("recommend", *_ASK, "--mechanism", "ft10"), "ft1, ft2"),
    (("recommend", *_ASK, "--mechanism", ","), "separated by commas"),
    (("recommend", *_ASK, "--interval", "0"), "from 1"),
    (("recommend", *_ASK, "--interval", "often"), "auto"),
    (("recommend", *_ASK, "--max-overhead", "5"), "5%"),
    (("recommend", *_ASK, "--state-size", "2.6Gb"), "bits"),
    (("recommend", *_ASK, "--storage-write", "1GB"), "1.37GB/s"),
    (("recommend", *_ASK, "--format", "pdf"), "table"),
    (("recommend", *_ASK, "--frequency", "4h"), "--frequency"),
    (("recommend", *_ASK, "--architecture", "a8"), "a1-async, a1-sync, a2"),
    (("pareto", "--architecture", "a2", "--axes", "beauty"), "overhead, restore"),
    (("pareto", "--architecture", "a2", "--axes", "expected-time"), "--mtbf"),
    (("crossover", "ft1", "ft1"), "two mechanisms"),
    (("crossover", "ft1", "ft9"), "cannot be compared"),
    (("crossover", "ft4", "ft9", "--architecture", "a6"), "outside Eq. (5)"),
    (("interval", "--save-time", "0s", "--mtbf", "4h"), "from 1 µs"),
    (("recommend", *_ASK, "--duration", "1e300s"), "beyond any duration"),
    (("recommend", *_ASK, "--step-time", "0.1us"), "from 1 µs"),
    (("recommend", *_ASK, "--state-size", "1" * 500 + "B"), "204.7MB"),
    (("recommend", *_ASK, "--interval", "9" * 21), "to 1000000000000000"),
    (("recommend", *_ASK, "--db", "/"), "folder"),
    (("recommend", *_ASK, "--db", "x" * 300), "too long"),
    (("sql", "select '\udc80'"), "UTF-8"),
    (("db", "export", "--cluster", "matilda-8xv100", "-o", "/dev/null", "--force"), "regular"),
    (("report", "20990101-00000000"), "no recommendation"),
    (("recomend",), "recomend"),
    (("sql", "select 1", "--max-rows", "0"), "range"),
    (("db", "load", "no-such-file.json"), "no-such-file.json"),
    (("db", "downgrade", "--to", "0815"), "0001"),
]


@pytest.mark.parametrize(("arguments", "valid"), _MISTAKES)
def test_mistakes_are_one_line_that_says_what_is_valid(
    advisor: Advisor, shipped_database: Path, arguments: tuple[str, ...], valid: str
) -> None:
    before = shipped_database.read_bytes()
    code, out, err = advisor(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert valid in err
    assert "Traceback" not in err
    assert shipped_database.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("recommend", *_ASK, "--cluster", "nowhere"),
        ("recommend", *_ASK, "--architecture", "a8"),
        ("recommend", *_ASK[:4], "--mtbf", "4 parsecs"),
        ("pareto", "--architecture", "a2", "--axes", "beauty"),
        ("report", "20990101-00000000"),
        ("sql", "delete from runs"),
    ],
)
def test_a_mistaken_first_use_leaves_nothing_behind(
    advisor: Advisor, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, _, err = advisor(*arguments, "--db", str(tmp_path / "new" / "advisor.db"))
    assert code == 2
    assert err.count("\n") == 1
    assert not list(tmp_path.rglob("*.db*"))


def test_first_use_creates_the_database_silently(advisor: Advisor, tmp_path: Path) -> None:
    path = tmp_path / "new" / "advisor.db"
    code, out, err = advisor("recommend", *_ASK, "--db", str(path), "--save")
    assert code == 0
    assert out.startswith("FT1")
    assert err.startswith("saved as")
    assert [p.name for p in path.parent.iterdir()] == ["advisor.db"]
    assert advisor("report", "--db", str(path))[1].count("matilda-8xv100") == 1


@pytest.mark.parametrize("content", [b"not a database\n" * 40, b"\x00" * 5000, b""])
def test_a_file_that_is_no_database(advisor: Advisor, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    code, out, err = advisor("recommend", *_ASK, "--db", str(path))
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert path.read_bytes() == content


def test_a_server_that_is_not_there(advisor: Advisor) -> None:
    code, _, err = advisor("recommend", *_ASK, "--db", "postgresql://me:s3cret@127.0.0.1:1/advisor")
    assert code == 2
    assert err.count("\n") == 1
    assert "s3cret" not in err


def test_export_and_load_elsewhere(advisor: Advisor, tmp_path: Path) -> None:
    bundle, other = tmp_path / "bundle.json", tmp_path / "other.db"
    assert advisor("db", "export", "--cluster", "matilda-8xv100", "-o", str(bundle))[0] == 0
    assert advisor("db", "upgrade", "--db", str(other))[0] == 0
    code, _, err = advisor("recommend", *_ASK, "--db", str(other))
    assert code == 2
    assert "advisor db load" in err
    assert advisor("db", "load", str(bundle), "--db", str(other))[0] == 0
    assert "all known" in advisor("db", "load", str(bundle), "--db", str(other))[1]
    assert advisor("db", "check", "--db", str(other))[0] == 0
    first = advisor("recommend", *_ASK, "--format", "csv")[1]
    assert advisor("recommend", *_ASK, "--format", "csv", "--db", str(other))[1] == first
    code, _, err = advisor("db", "export", "--cluster", "matilda-8xv100", "-o", str(bundle))
    assert code == 2
    assert "--force" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("recommend", *_ASK, "--cluster", "\udcff"),
        ("recommend", *_ASK, "--mtbf-from", "\udcff"),
        ("recommend", *_ASK, "--db", "\udcff.db"),
        ("coverage", "--cluster=\udcff"),
        ("report", "\udcff"),
        ("db", "export", "--cluster", "\udcff", "-o", "out.json"),
        ("\udcff",),
    ],
)
def test_arguments_that_are_no_text(
    advisor: Advisor, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = advisor(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "no text in UTF-8" in err
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_have_any_name(advisor: Advisor, tmp_path: Path) -> None:
    path = tmp_path / "\udcff.csv"
    path.write_text("time\n2024-03-01\n2024-03-05\n")
    code, out, _ = advisor("mtbf", str(path))
    assert code == 0
    assert out.startswith(r"\udcff.csv: a log of kind csv")
    for option in ("--storage-write", "--db"):
        code, _, err = advisor("recommend", *_ASK, option, str(path))
        assert code == 2
        assert "no text in UTF-8" in err


@pytest.mark.parametrize(
    "variables",
    [
        {"ADVISOR_DB_URL": "\udcff.db"},
        {"ADVISOR_DB_URL": "sqlite:////\udcff/advisor.db"},
        {"ADVISOR_DB_URL": "postgresql://me:s3cret@127.0.0.1:1/\udcff"},
        {"ADVISOR_DB_URL": "postgresql://me:s3cret\udcff@127.0.0.1:1/advisor"},
        {"ADVISOR_DB_URL": "", "XDG_DATA_HOME": "/\udcff"},
        {"ADVISOR_DB_URL": "", "XDG_DATA_HOME": "", "HOME": "/\udcff"},
        {"ADVISOR_DB_URL": "~/advisor.db", "HOME": "/\udcff"},
    ],
)
@pytest.mark.parametrize(
    "arguments", [("recommend", *_ASK), ("sql", "select 1"), ("db", "check"), ("db", "upgrade")]
)
def test_variables_that_are_no_text(
    advisor: Advisor,
    arguments: tuple[str, ...],
    variables: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, out, err = advisor(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "is no text in UTF-8: use a SQLite file" in err
    assert "s3cret" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a file in the current folder that is no text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "\udcff").write_text("time\n2024-03-01\n2024-03-05\n")
    return "\udcff"


@pytest.mark.parametrize(
    "arguments",
    [
        ("recommend", *_ASK, "--mtbf-from"),
        ("coverage", "--cluster"),
        ("leads", "--cluster"),
        ("detectors", "--cluster"),
        ("clusters",),
        ("campaigns", "show"),
        ("report",),
        ("report", "--id"),
        ("emit", "--for", "dcp"),
        ("crossover", "ft1"),
        ("mtbf", "FILE", "--window"),
        ("measure", "--architecture", "a2", "--cluster"),
        ("measure", "--trace"),
        ("measure", "--campaign-file"),
        ("validate", "--scenario"),
        ("db", "export", "-o", "out.json", "--cluster"),
        ("db", "upgrade", "--to"),
    ],
)
def test_what_is_kept_or_asked_for_is_text_also_where_a_file_is_called_so(
    advisor: Advisor, odd: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    code, out, err = advisor(*arguments, odd)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert r"'\udcff' is no text in UTF-8" in err
    assert [path.name for path in tmp_path.iterdir()] == [odd]


@pytest.mark.parametrize(
    "arguments",
    [
        ("measure", "--architecture", "a2"),
        ("calibrate", "--cluster", "mine"),
        ("validate",),
    ],
)
@pytest.mark.parametrize("stated", [True, False])
def test_the_folder_of_records_is_text(
    advisor: Advisor,
    arguments: tuple[str, ...],
    stated: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "\udcff"
    folder.mkdir()
    if not stated:
        monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    code, out, err = advisor(*arguments, *(["--folder", str(folder)] if stated else []))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert r"\udcff" in err
    assert "is no text in UTF-8: choose one by --folder" in err
    assert list(folder.iterdir()) == []


def test_a_current_folder_that_is_no_text(
    advisor: Advisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "\udcff"
    folder.mkdir()
    monkeypatch.chdir(folder)
    code, out, err = advisor("recommend", *_ASK, "--db", "advisor.db")
    assert (code, out) == (2, "")
    assert "is no text in UTF-8" in err
    assert list(folder.iterdir()) == []


def test_files_of_any_name_are_written(advisor: Advisor, odd: str, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('architecture = "a2"\nstate-size = "204.7MB"\nmtbf = "4h"\n')
    for ending in (".md", ".py"):
        (tmp_path / f"{odd}{ending}").touch()
    written = {
        f"{odd}.md": ("report", "--scenario", str(scenario)),
        f"{odd}.py": ("emit", "--for", "dcp", "--scenario", str(scenario)),
        odd: ("db", "export", "--cluster", "matilda-8xv100", "--force"),
    }
    for name, arguments in written.items():
        code, out, err = advisor(*arguments, "-o", name)
        assert (code, err) == (0, "")
        assert out.startswith(name.replace("\udcff", r"\udcff"))
        assert (tmp_path / name).stat().st_size > 1000


def test_an_output_that_lacks_characters(shipped_database: Path) -> None:
    """Latin-1 has no dash of the width of an n, which stands for what does not exist."""
    ran = subprocess.run(
        [sys.executable, "-m", "advisor", "recommend", *_ASK, "--warning-lead", "2s"],
        env={
            **os.environ,
            "ADVISOR_DB_URL": str(shipped_database),
            "PYTHONIOENCODING": "latin-1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert rb"\u2013" in ran.stdout
