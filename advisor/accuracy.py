"""How far the advice was off on a cluster: one section for each way of finding out. Pure."""

from dataclasses import asdict, dataclass
from typing import Any

from advisor.leave_one_out import LeaveOneOut, leave_one_out
from db.records import ClusterEvidence

FORMAT = "failbench-advisor-accuracy"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What `advisor accuracy` shows of one cluster."""

    cluster: str
    leave_one_out: LeaveOneOut

    def as_json(self) -> dict[str, Any]:
        """The contract of docs/json.md; its schema is `accuracy-1.schema.json`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "cluster": self.cluster,
            "leave_one_out": asdict(self.leave_one_out),
        }


def accuracy(evidence: ClusterEvidence) -> Accuracy:
    """Everything that is known of it from the cluster's evidence."""
    return Accuracy(evidence.cluster.cluster, leave_one_out(evidence))
