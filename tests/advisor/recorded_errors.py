"""The leave-one-out errors of the shipped clusters, as they stood when they were last recorded.

`python -m tests.advisor.recorded_errors` measures them anew and writes `leave_one_out_errors.csv`,
for a change that is meant: of a rule that got better, or of data. The difference belongs in the
commit, and what got worse in its message.
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from advisor.evidence import load_evidence, opened
from advisor.leave_one_out import leave_one_out
from db.records import ClusterEvidence

TABLE = Path(__file__).with_name("leave_one_out_errors.csv")
COLUMNS = (
    *("cluster", "rule", "part", "n", "median_fraction", "largest_fraction"),
    *("n_apart", "largest_apart_fraction"),
)
CLUSTERS = ("matilda-8xv100", "2-cores-8-ranks", "2-epyc-cores-8-ranks")

Key = tuple[str, str, str]
"""Cluster, rule, part."""
Row = dict[str, str]


@contextmanager
def shipped_evidence() -> Iterator[list[ClusterEvidence]]:
    """The paper's cluster and the measured ones, through a real database of a first use."""
    with TemporaryDirectory() as folder:
        database = str(Path(folder) / "advisor.db")
        with opened(database) as engine:
            yield [load_evidence(engine, name) for name in CLUSTERS]


def measured(evidence: ClusterEvidence) -> dict[Key, Row]:
    """The errors of every rule that could be checked, with four decimals."""
    cluster = evidence.cluster.cluster
    return {
        (cluster, check.rule.value, error.part.value): {
            "n": str(error.n),
            "median_fraction": _decimals(error.median_fraction),
            "largest_fraction": _decimals(error.largest_fraction),
            "n_apart": str(error.n_apart),
            "largest_apart_fraction": _decimals(error.largest_apart_fraction),
        }
        for check in leave_one_out(evidence).checks
        for error in check.errors
    }


def recorded() -> dict[Key, Row]:
    """The committed table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row.pop("cluster"), row.pop("rule"), row.pop("part")): row for row in rows}


def _decimals(fraction: float | None) -> str:
    return "" if fraction is None else f"{fraction:.4f}"


def _write() -> None:
    with shipped_evidence() as found, TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for evidence in found:
            for key, row in measured(evidence).items():
                writer.writerow((*key, *row.values()))


if __name__ == "__main__":
    _write()
