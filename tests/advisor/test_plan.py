"""`advisor plan`: the command, its words and what it refuses."""

import json
from pathlib import Path

import pytest

from advisor import cli

_ASK = "--architecture a2 --state-size 204.7MB --mtbf 4h --mechanism ft1,ft2,ft5"
_TOLD = (
    "--class silent-corruption=5d --class hang=3d,detection=10m "
    "--class straggler=1d,factor=1.5,length=6h "
    "--monitor digest:cost=50ms,miss=1%,false=0.02/day "
    "--monitor stragglers:cost=1ms,miss=5%,false=0"
)


def run(options: str, database: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(["plan", *_ASK.split(), *options.split(), "--db", str(database)]) == 0
    return capsys.readouterr().out


def test_the_answer_says_what_is_set_and_why(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run(_TOLD, shipped_database, capsys)
    found = json.loads(run(f"{_TOLD} --format json", shipped_database, capsys))
    best = found["choices"][0]
    assert found["basis"] == "modelled"
    assert text.splitlines()[1].startswith("Modelled: ")
    assert text.startswith(
        f"{best['mechanism'].upper()} (every {best['interval_steps']:,} steps, digest"
    )
    assert [each["class"] for each in best["by_class"]] == [
        *("crash", "hang", "straggler", "silent-corruption"),
    ]
    (corruption,) = [c for c in best["by_class"] if c["class"] == "silent-corruption"]
    assert corruption["noticed_fraction"] == pytest.approx(0.99)
    total_s = sum(each["cost_s"] for each in best["by_class"]) + best["saves_s"]
    total_s += sum(each["checks_s"] + each["false_alarms_s"] for each in best["by_monitor"])
    assert total_s + found["scenario"]["duration_s"] == pytest.approx(best["first_order_s"])
    assert {each["mechanism"] for each in best["others"]} == {best["mechanism"]}
    assert len(best["others"]) == 3
    times = [each["right_s"] for each in found["choices"]]
    assert times == sorted(times)
    for said in (
        "with no monitor",
        "digest: 50 ms a check; misses: ",
        "Left out",
        "hang: one every",
    ):
        assert said in text


def test_what_monitors_see_wholly_spoils_nothing(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = (
        "--class divergence=5d --monitor digest:cost=1ms,miss=0,false=1e-9 "
        "--monitor audit:cost=9s,miss=0,false=0/day,delay=1s,watches=divergence"
    )
    text = run(told, shipped_database, capsys)
    assert "; no failure that was stated spoils the result." in text.splitlines()[0]
    assert "1 in 1e+09 of the checks" in text
    assert "9 s a check, 1 s until the job stops; misses: divergence none" in text
    (reasons,) = [line for line in text.splitlines() if line.startswith("  FT1: with")]
    # Against none, against another instead is no comparison, against both.
    assert reasons.count("with ") == 2


def test_without_classes_there_is_nothing_to_watch(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run("", shipped_database, capsys)
    assert "probability" not in text.splitlines()[0]
    assert "no monitor has anything to watch" in text


def test_an_unwatched_corruption_is_said(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run("--class divergence=5d", shipped_database, capsys)
    assert "the result may be wrong and nobody knows" in text
    text = run("--class divergence=5d --max-wrong 1%", shipped_database, capsys)
    assert text.startswith("No mechanism with any of the monitors keeps every rule and limit.")
    assert "keeps the chance of a wrong result at or below 1 %" in text


def test_one_state_begins_anew(shipped_database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "--class divergence=5y --monitor digest:cost=1ms,miss=0,false=0 --mechanism ft4"
    assert "costs the whole job so far" in run(
        f"{told} --warning-lead 2s", shipped_database, capsys
    )


def test_a_file_says_the_same_as_options(
    shipped_database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "failures.toml"
    path.write_text(
        "[class.silent-corruption]\nevery = '5d'\n"
        "[monitor.digest]\ncost = '50ms'\nmiss = '1%'\nfalse = '0.02/day'\n",
        encoding="utf-8",
    )
    told = "--class silent-corruption=5d --monitor digest:cost=50ms,miss=1%,false=0.02/day"
    by_file = run(f"--failures {path}", shipped_database, capsys)
    assert by_file == run(told, shipped_database, capsys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--class hang", "not a failure class with its rate"),
        ("--class crash=4h", "--mtbf counts"),
        ("--class hang=1d --class hang=2d", "the class hang is there twice"),
        ("--monitor digest:cost=1s", "miss is missing"),
        ("--monitor digest:cost=1s,miss=0,false=0", "nothing to watch for: add --class"),
        ("--failures nowhere.toml", "cannot be read"),
        ("--kept-up-to 0", "1<=x<=1000"),
        ("--max-wrong 150%", "at most 100%"),
        ("--max-wrong 1", "has no unit"),
    ],
)
def test_bad_input_is_one_line(
    options: str,
    said: str,
    shipped_database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["plan", *_ASK.split(), *options.split(), "--db", str(shipped_database)]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert said in found.err
    assert found.err.count("\n") == 1
