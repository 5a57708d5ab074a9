"""`advisor tune`: the command, its words and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor import cli

_ASK = "--architecture a2 --state-size 204.7MB --mtbf 30m --duration 3d"
_TOLD = (
    "--kinds 1:95%,all:5% --hiccup-every 6h --hiccup-length 20s --repair 20m --nodes 16 "
    "--storage-write 75MB/s --mechanism ft1,ft2,ft6"
)


def run(options: str, database: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(["tune", *_ASK.split(), *options.split(), "--db", str(database)]) == 0
    return capsys.readouterr().out


def document(options: str, database: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(run(f"{options} --format json", database, capsys))


def test_the_answer_has_all_settings(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"{_TOLD} --most 512 --spares-up-to 20"
    text = run(told, shipped_database, capsys)
    found = document(told, shipped_database, capsys)
    best = found["choices"][0]
    assert len(best["settings"]) == 2
    names = " + ".join(each["mechanism"].upper() for each in best["settings"])
    assert text.startswith(f"{names} (every ")
    assert f"detection timeout {best['timeout_s']:g} s" in text
    assert f"  {best['spares']} spare nodes" in text
    assert "Several mechanisms instead of FT" in text
    assert "Timeouts from " in text
    assert len(found["choices"]) == 6
    # What practically never ends is not simulated.
    simulated = [each["simulated"] for each in found["choices"]]
    assert [each["seed"] for each in simulated if each] == [0] * 3
    times = [each["expected_completion_s"] for each in found["choices"]]
    assert times[1:] == sorted(times[1:])
    assert times[0] <= min(times) * 1.002


def test_what_is_not_stated_is_not_searched(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run("--most 0", shipped_database, capsys)
    assert "the detection timeout was not searched" in text
    assert "spares were not searched" in text
    best = document("--most 0", shipped_database, capsys)["choices"][0]
    assert (best["timeout_s"], best["spares"], best["simulated"]) == (None, None, None)
    assert (best["timeouts"], best["by_spares"]) == ([], [])


def test_the_same_seed_gives_the_same_figures(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"{_TOLD} --most 256 --show 2"
    first, again = (document(told, shipped_database, capsys) for _ in range(2))
    other = document(f"{told} --seed 1", shipped_database, capsys)
    assert first == again
    assert first["choices"][0]["simulated"] != other["choices"][0]["simulated"]
    assert first["choices"][0]["settings"] == other["choices"][0]["settings"]


def test_observed_hiccups_come_from_a_file(
    shipped_database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = tmp_path / "hiccups.txt"
    seen.write_text("# of a week\n" + "1.5s\n12s\n\n300ms\n" * 5, encoding="utf-8")
    told = f"--hiccups {seen} --hiccups-over 7d --mtbf 4h --regroup 10m --most 0"
    found = document(told, shipped_database, capsys)
    assert found["circumstances"]["hiccups"].startswith("15 hiccups seen in 7 d")
    assert found["choices"][0]["timeout_s"] >= 12.0


def test_who_goes_on_by_itself_has_nothing_to_set(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "tune",
        "--architecture",
        "a6",
        "--state-size",
        "204.7MB",
        "--mtbf",
        "4h",
        "--mechanism",
        "ft9",
    ]
    assert cli.run([*asked, "--db", str(shipped_database)]) == 0
    assert "goes on by itself after a loss" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--kinds 1:50%", "add up to 50 %"),
        ("--kinds often", "how many nodes failures take"),
        ("--hiccup-every 1h", "belong together"),
        ("--hiccups-over 1h", "belong together"),
        ("--hiccups nowhere.txt --hiccups-over 1d", "cannot be read"),
        ("--hiccup-every 1h --hiccup-length 1s --hiccups x --hiccups-over 1d", "stated twice"),
        ("--hiccup-every 0s --hiccup-length 1s", "above 0"),
        ("--silent 50%", "needs the hiccups"),
        ("--silent 150% --hiccup-every 1h --hiccup-length 1s", "0% to 100%"),
        ("--spares-up-to 3", "time to repair a node"),
        ("--repair 1h", "no failure takes a node"),
        ("--repair 0s --kinds 1:100%", "above 0s"),
        ("--repair 10y --mtbf 1s --kinds 1:100%", "in repair in the mean"),
        ("--objective node-hours", "node-hours"),
        ("--precision 0%", "above 0%"),
        ("--interval 100", "intervals are searched"),
        ("--tiers-up-to 4", "1<=x<=3"),
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
    Path("x").write_text("1s", encoding="utf-8")
    asked = ["tune", *_ASK.split(), *options.split(), "--db", str(shipped_database)]
    assert cli.run(asked) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert said in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("content", [b"1s\nsoon\n", b"\xff\xfe\n", b"5\n"])
def test_a_file_of_hiccups_that_cannot_be_read_is_one_line(
    content: bytes, shipped_database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = tmp_path / "hiccups.txt"
    seen.write_bytes(content)
    told = ["--hiccups", str(seen), "--hiccups-over", "1d", "--db", str(shipped_database)]
    assert cli.run(["tune", *_ASK.split(), *told]) == 2
    err = capsys.readouterr().err
    assert "hiccups.txt" in err
    assert err.count("\n") == 1
