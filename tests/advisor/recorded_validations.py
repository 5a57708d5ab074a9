"""How far the shipped clusters' live runs are from what is predicted of them today, in the mean of
each scenario.

`python -m tests.advisor.recorded_validations` computes it anew and writes `validation_errors.csv`
and `validation_picks.csv`, for a change that is meant: of a rule or of data. What got worse belongs
in the commit's message.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from advisor.candidates import consider
from advisor.defaults import resolve
from advisor.inputs import read_inputs
from advisor.validated import Validated, repeated, validated
from advisor.validation import as_tried
from db.records import ClusterEvidence, ValidatedRun
from tests.advisor.recorded_errors import shipped_evidence

TABLE = Path(__file__).with_name("validation_errors.csv")
COLUMNS = ("cluster", "scenario", "mechanism", "error_fraction")
PICKS = Path(__file__).with_name("validation_picks.csv")
PICKS_COLUMNS = ("cluster", "picked_s")


def predicted_now(
    evidence: ClusterEvidence, run: ValidatedRun, step_time_s: float | None = None
) -> float | None:
    """What would be predicted of a run today (s), at the interval that it was made with: by the
    rules and the evidence of today. None where nothing would be. Without a step time, at the one
    that it was predicted with, else at that of its validation."""
    asked = read_inputs(json.loads(run.scenario))
    step_s = step_time_s or run.step_time_s or run.planned_step_time_s
    inputs = as_tried(asked, run.mechanism, run.interval_steps, run.steps, step_s)
    candidates = consider(evidence, resolve(inputs, evidence)).candidates
    return candidates[0].expected_completion_s if candidates else None


def picked_now(evidence: ClusterEvidence, found: Validated) -> ValidatedRun | None:
    """The run of the mechanism that would be selected today among those that were tried: at the
    one step time by which it was decided then, as the runs' own are of different moments."""
    times = [(predicted_now(evidence, r, r.planned_step_time_s), r) for r in found.runs]
    predicted = [(s, r) for s, r in times if s is not None]
    return min(predicted, key=lambda each: each[0], default=(0.0, None))[1]


def errors(evidence: ClusterEvidence) -> Iterator[tuple[str, str, str, float]]:
    """Mean predicted today / mean observed - 1 of each mechanism in each scenario, over the runs
    that finished and can be predicted."""
    for scenario in repeated(validated(evidence.validations)):
        times: dict[str, list[tuple[float, float]]] = {}
        for run in (run for each in scenario.validations for run in each.runs):
            predicted_s = predicted_now(evidence, run) if run.observed_s else None
            if predicted_s is not None and run.observed_s is not None:
                times.setdefault(run.mechanism, []).append((predicted_s, run.observed_s))
        for mechanism, pairs in times.items():
            predicted, observed = (sum(each) for each in zip(*pairs, strict=True))
            yield (evidence.cluster.cluster, scenario.name, mechanism, predicted / observed - 1.0)


def recorded() -> dict[tuple[str, str, str], float]:
    """The errors of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["cluster"], row["scenario"], row["mechanism"]): float(row["error_fraction"])
            for row in csv.DictReader(file)
        }


def picked_s(evidence: ClusterEvidence) -> float:
    """How long the picks of today took in all validations together (s)."""
    picks = [picked_now(evidence, each) for each in validated(evidence.validations)]
    return sum(
        pick.observed_s for pick in picks if pick is not None and pick.observed_s is not None
    )


def recorded_picks() -> dict[str, float]:
    """How long the picks took, by cluster."""
    with PICKS.open(encoding="utf-8", newline="") as file:
        return {row["cluster"]: float(row["picked_s"]) for row in csv.DictReader(file)}


def main() -> None:
    """Writes the tables."""
    with shipped_evidence() as clusters:
        found = [evidence for evidence in clusters if evidence.validations]
        _write(TABLE, COLUMNS, [(*k, f"{e:.4f}") for each in found for *k, e in errors(each)])
        picks = [(each.cluster.cluster, f"{picked_s(each):.3f}") for each in found]
        _write(PICKS, PICKS_COLUMNS, picks)


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
