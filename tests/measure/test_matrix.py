"""The compatibility matrix: computed from capabilities, equal to Table II cell by cell."""

import csv
import io
from pathlib import Path

import pytest

from measure.architectures.catalogue import ARCHITECTURES
from measure.interfaces.capabilities import (
    ArchitectureEntry,
    Capability,
    MechanismEntry,
    MissingMeans,
    Requirement,
)
from measure.matrix import classify, compute, main
from measure.mechanisms.catalogue import MECHANISMS

# Table II as printed, columns FT1 ... FT9; its row A1 holds for both configurations of A1.
_TABLE_II = {
    "a1-sync": "VVVVVVVVV",
    "a1-async": "VVVVVVVVV",
    "a2": "VVVVVVVVV",
    "a3": "VVVVVVVVV",
    "a4": "VVVVVVDVV",
    "a5": "VVVVVVDVV",
    "a6": "VSVVSSVVV",
    "a7": "VVVVVVDVV",
}
_LETTERS = {"V": "viable", "D": "degenerate", "S": "infeasible"}
_DATA = Path(__file__).resolve().parents[2] / "data"


def test_equal_to_table_ii() -> None:
    printed = {
        (architecture, f"ft{number}"): _LETTERS[letter]
        for architecture, row in _TABLE_II.items()
        for number, letter in enumerate(row, start=1)
    }
    assert {(p.architecture, p.mechanism): p.status for p in compute()} == printed


def test_counts_of_section_iv_b() -> None:
    seven = [p for p in compute() if p.architecture != "a1-async"]
    viable = sum(p.status == "viable" for p in seven)
    infeasible = sum(p.status == "infeasible" for p in seven)
    assert len(seven) == 63
    assert 3 * viable == 171
    assert 3 * (viable + infeasible) == 180


def test_a_reason_wherever_a_pair_is_not_viable() -> None:
    for pair in compute():
        assert bool(pair.reason) == (pair.status != "viable")
        if pair.reason:
            assert pair.architecture.upper() in pair.reason
            assert pair.mechanism.upper() in pair.reason


def test_infeasible_wins_over_degenerate() -> None:
    requires = tuple(
        Requirement(capability, means, "something")
        for capability, means in (
            (Capability.PER_RANK_DATA_SHARD, MissingMeans.DEGENERATE),
            (Capability.FULL_RANK_GROUP, MissingMeans.INFEASIBLE),
        )
    )
    bare = ArchitectureEntry("bare", frozenset())
    assert classify(bare, MechanismEntry("greedy", requires)).status == "infeasible"
    assert classify(bare, MechanismEntry("greedy", requires[:1])).status == "degenerate"
    assert classify(bare, MechanismEntry("modest", ())).status == "viable"


def test_shipped_file_is_this_output(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert capsys.readouterr().out == (_DATA / "compatibility.csv").read_text()


def test_shipped_rows_are_the_catalogues() -> None:
    def rows(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO((_DATA / name).read_text())))

    assert {
        r["architecture"]: set(r["capabilities"].split()) for r in rows("architectures.csv")
    } == {a.architecture: {c.value for c in a.capabilities} for a in ARCHITECTURES}
    assert [r["mechanism"] for r in rows("mechanisms.csv")] == [m.mechanism for m in MECHANISMS]
