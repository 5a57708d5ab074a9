"""`advisor emit`: the same answer in three ways, a file or nothing, one clear line on a mistake."""

import json
from pathlib import Path

import pytest

from advisor import cli
from advisor.emit import registry

_SCENARIO = "--architecture a2 --state-size 204.7MB --mtbf 4h --detection 30s"


@pytest.fixture
def run(
    shipped_database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> "Run":
    monkeypatch.setenv("ADVISOR_DB_URL", str(shipped_database))
    return Run(capsys)


class Run:
    """Runs a command line; words that may have blanks go into `more`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, line: str, *more: str) -> tuple[int, str, str]:
        code = cli.run([*line.split(), *more])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def refused(self, line: str, *more: str) -> str:
        """The one line of a mistake."""
        code, out, err = self(line, *more)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err


def test_options_a_scenario_file_and_a_saved_answer_say_the_same(run: Run, tmp_path: Path) -> None:
    code, by_options, _ = run(f"emit --for dcp {_SCENARIO}")
    assert code == 0
    assert "INTERVAL_STEPS = 351\n" in by_options
    assert "TIMEOUT_S = 30\n" in by_options
    assert f"# made by: advisor emit --for dcp {_SCENARIO}\n" in by_options
    scenario = tmp_path / "job.toml"
    scenario.write_text(
        'architecture = "a2"\nstate-size = "204.7MB"\nmtbf = "4h"\ndetection = "30s"\n'
    )
    assert run("emit --for dcp --scenario", str(scenario))[1] == by_options
    saved = run(f"recommend {_SCENARIO} --save")[2].split()[2].rstrip(":")
    code, by_id, _ = run(f"emit --for dcp {saved}")
    assert code == 0
    assert f"# made by: advisor emit --for dcp {saved}\n" in by_id

    def rest(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith("# made by")]

    assert rest(by_id) == rest(by_options)


@pytest.mark.parametrize("tool", registry.names())
def test_every_tool_emits_the_selected_candidate(run: Run, tool: str) -> None:
    code, out, err = run(f"emit --for {tool} {_SCENARIO} --format json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["tool"], document["mechanisms"]) == (tool, ["ft1"])


def test_a_file_is_written_whole_or_not_at_all(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.py"
    code, out, _ = run(f"emit --for dcp {_SCENARIO} -o", str(path))
    assert (code, out) == (0, f"{path} written\n")
    assert path.read_text(encoding="utf-8") == run(f"emit --for dcp {_SCENARIO}")[1]
    before = path.read_bytes()
    refused = run.refused(f"emit --for dcp --candidate ft2 {_SCENARIO} -o", str(path))
    assert "dcp cannot realise FT2" in refused
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.py"]
    assert "cannot be written" in run.refused(
        f"emit --for dcp {_SCENARIO} -o", str(tmp_path / "no" / "where.py")
    )


def test_of_several_files_one_is_chosen(run: Run, tmp_path: Path) -> None:
    line, path = f"emit --for nvrx --candidate ft2 {_SCENARIO}", tmp_path / "file"
    assert "choose one with --part: launch, checkpoint" in run.refused(f"{line} -o", str(path))
    assert not path.exists()
    assert run(f"{line} --part checkpoint -o", str(path))[0] == 0
    assert "LocalCheckpointManager" in path.read_text(encoding="utf-8")
    both = run(line)[1]
    assert run(f"{line} --part launch")[1] in both
    assert run(f"{line} --part checkpoint")[1] in both
    assert "no part 'wrapper' here" in run.refused(f"{line} --part wrapper")
    document = json.loads(run(f"{line} --part launch --format json")[1])
    assert [part["name"] for part in document["parts"]] == ["launch"]


def test_who_cannot_says_who_can_and_what_it_can(run: Run) -> None:
    said = run.refused(f"emit --for torchtitan --candidate ft2 {_SCENARIO}")
    assert "torchtitan cannot realise FT2: its checkpoints go to storage only" in said
    assert "FT2 can be had from megatron, nvrx" in said
    assert "of this answer torchtitan does FT1, FT3\n" in said


def test_candidates_together(run: Run) -> None:
    warned = f"{_SCENARIO} --warning-lead 60s --warning-coverage 80%"
    code, out, _ = run(f"emit --for hf-trainer --candidate FT4+ft1 {warned}")
    assert code == 0
    assert '"enable_jit_checkpoint": True' in out
    assert '"save_steps": ' in out
    assert "sbatch --signal=TERM@60" in out
    assert "needs a warning lead" in run.refused(
        f"emit --for hf-trainer --candidate ft4+ft1 {_SCENARIO}"
    )


def test_abilities_as_a_table_as_csv_and_as_json(run: Run) -> None:
    code, table, _ = run("emit --tools")
    assert code == 0
    rows = run("emit --tools --format csv")[1].splitlines()
    assert rows[0] == "tool,mechanism,support,reason"
    assert len(rows) == 1 + len(registry.names()) * 10
    assert len(table.splitlines()) == len(rows)
    document = json.loads(run("emit --tools --format json")[1])
    assert [tool["tool"] for tool in document["tools"]] == list(registry.names())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"emit {_SCENARIO}", "for which tool? Write --for with one of dcp, deepspeed"),
        ("emit --for dcp", "--architecture is missing"),
        ("emit --for dcp --architecture a2", "--mtbf is missing"),
        ("emit --for dcp --scenario a.toml 20260101-00000000", "an ID or --scenario, not both"),
        ("emit --for dcp --mtbf 4h 20260101-00000000", "--mtbf cannot change the saved answer"),
        ("emit --for dcp --scenario a.toml --detection 3s", "--detection cannot change a.toml"),
        ("emit --for dcp 20260101-00000000", "20260101-00000000"),
        ("emit --for horovod --mtbf 4h", "'horovod' is not one of"),
        (f"emit --for dcp --format csv {_SCENARIO}", "csv is for --tools"),
        (f"emit --for dcp --candidate ft1+ {_SCENARIO}", "write ft1, or several as ft4+ft1"),
        ("emit --tools --for dcp", "--tools goes with --cluster, --format and --db only"),
        ("emit --tools --mtbf 4h", "--tools goes with"),
        ("emit --for dcp --architecture a6 --state-size 204.7MB --mtbf 4h", "A6 goes on by itself"),
        (f"emit --for dcp {_SCENARIO} --max-pause 1ms", "there is nothing to emit"),
    ],
)
def test_a_mistake_is_one_line(run: Run, line: str, said: str) -> None:
    assert said in run.refused(line)
