"""How far the shipped clusters' live runs are from what is predicted of them today.

`python -m tests.advisor.recorded_validations` computes it anew and writes `validation_errors.csv`,
for a change that is meant: of a rule or of data. What got worse belongs in the commit's message.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from advisor.validation import predicted_now
from db.records import ClusterEvidence
from tests.advisor.recorded_errors import shipped_evidence

TABLE = Path(__file__).with_name("validation_errors.csv")
COLUMNS = ("cluster", "scenario", "mechanism", "error_fraction")


def errors(evidence: ClusterEvidence) -> Iterator[tuple[str, str, str, float]]:
    """Predicted today / observed - 1 of every run that finished and can be predicted."""
    for run in evidence.validations:
        predicted_s = predicted_now(evidence, run) if run.observed_s else None
        if predicted_s is not None and run.observed_s is not None:
            yield (
                *(evidence.cluster.cluster, run.name, run.mechanism),
                predicted_s / run.observed_s - 1.0,
            )


def recorded() -> dict[tuple[str, str, str], float]:
    """The errors of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["cluster"], row["scenario"], row["mechanism"]): float(row["error_fraction"])
            for row in csv.DictReader(file)
        }


def main() -> None:
    """Writes the table."""
    with shipped_evidence() as clusters, TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for evidence in clusters:
            writer.writerows((*key, f"{error:.4f}") for *key, error in errors(evidence))


if __name__ == "__main__":
    main()
