"""docs/failure_logs.md: what columns can hold is what the program knows."""

from advisor.failure_logs.columns import RowKind, meanings_of
from advisor.failure_logs.formats.sacct import COMMAND
from tests.advisor.failure_logs.samples import FOLDER
from tests.docs.documents import code_words, read, table_with


def test_columns_that_can_be_told() -> None:
    described = table_with(read("failure_logs.md"), "rows")
    assert set(described) == {f"{kind}s" for kind in RowKind}
    for kind in RowKind:
        named = code_words(" ".join(described[f"{kind}s"])) - {"n[1-4]"}
        assert named == {each.name for each in meanings_of(kind)}


def test_the_command_for_slurm_is_the_one_that_the_program_names() -> None:
    asked = COMMAND.split()
    for name in ("failure_logs.md", "cluster.md"):
        said = " ".join(read(name).replace("\\\n", " ").split())
        written = said.partition("$ sacct ")[2].partition(" > sacct.txt")[0].split()
        assert set(asked) - {"sacct", "now-90days"} <= set(written)


def test_the_excerpt_is_what_was_recorded() -> None:
    recorded = (FOLDER / "sacct_22_05.txt").read_text(encoding="utf-8")
    assert f"```\n{recorded}```\n" in read("failure_logs.md")
