"""docs/failure_logs.md: what columns can hold is what the program knows."""

from advisor.failure_logs.columns import RowKind, meanings_of
from tests.docs.documents import code_words, read, table_with


def test_columns_that_can_be_told() -> None:
    described = table_with(read("failure_logs.md"), "rows")
    assert set(described) == {f"{kind}s" for kind in RowKind}
    for kind in RowKind:
        named = code_words(" ".join(described[f"{kind}s"])) - {"n[1-4]"}
        assert named == {each.name for each in meanings_of(kind)}
