"""How far the advice was off on a cluster: one section for each way of finding out. Pure."""

from dataclasses import asdict, dataclass
from typing import Any

from advisor.leave_one_out import LeaveOneOut, leave_one_out
from advisor.recommendation import SeenError
from advisor.seen_errors import seen_errors
from db.records import ClusterEvidence

FORMAT = "failbench-advisor-accuracy"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What `advisor accuracy` shows of one cluster."""

    cluster: str
    leave_one_out: LeaveOneOut
    seen: tuple[SeenError, ...]

    def as_json(self) -> dict[str, Any]:
        """The contract of docs/json.md; its schema is `accuracy-1.schema.json`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "cluster": self.cluster,
            "leave_one_out": asdict(self.leave_one_out),
            "seen": [asdict(each) for each in self.seen],
        }


def accuracy(evidence: ClusterEvidence) -> Accuracy:
    """Everything that is known of it from the cluster's evidence."""
    seen = tuple(seen_errors(evidence))
    return Accuracy(evidence.cluster.cluster, leave_one_out(evidence), seen)
