"""The nodes of a run as they stand in its record: where ranks were, what was lost at once, and what
passed over the interfaces."""

from collections.abc import Sequence
from typing import Any

from measure.results.rank_log import RankLog
from measure.results.verdict import Fault, Run
from measure.supervisor.observed import NodeView


def nodes_of(run: Run, faults: Sequence[Fault]) -> dict[str, Any]:
    """For the record, under `nodes`; empty where all ranks were on one node."""
    if not run.seen.nodes:
        return {}
    return {
        "nodes": {
            "failure_domain": failure_domain(faults),
            "node_losses_survived": _losses_survived(run.logs),
            "members": [_member(run, node) for node in run.seen.nodes],
        }
    }


def failure_domain(faults: Sequence[Fault]) -> str | None:
    """The largest of what the faults took at once: `node`, or `rank` with what its memory held;
    None where none struck."""
    fired = [f.event.kind for f in faults if f.fired and f.event.ends_its_rank]
    if any(kind.strikes_a_node for kind in fired):
        return "node"
    return "rank" if fired else None


def _losses_survived(logs: Sequence[RankLog]) -> int | None:
    """How many nodes, whichever, the replicas outlive as they were first placed; None where there
    are none."""
    placed = (log.first("placed") for log in logs)
    return next((int(event["node_losses_survived"]) for event in placed if event), None)


def _member(run: Run, node: NodeView) -> dict[str, Any]:
    slots = [view.rank for view in run.seen.ranks if view.node == node.node]
    return {
        "node": node.node,
        "host": node.host,
        "address": node.address,
        "ranks": slots,
        "lost": node.lost or None,
        "lost_s": None if node.lost_at is None else run.since_began(node.lost_at),
        "interface": node.interface,
        "recovery_interface": node.recovery_interface,
        "interface_chosen": node.chosen,
        "passed": [_passed(node, name) for name in sorted(node.last_passed)],
        "replica_bytes_sent": sum(_replica_bytes_sent(run.logs[slot]) for slot in slots),
        "replica_bytes_fetched": sum(_replica_bytes_fetched(run.logs[slot]) for slot in slots),
    }


def _passed(node: NodeView, name: str) -> dict[str, Any]:
    """What passed over an interface from the first to the last beat; all processes' together."""
    first, last = node.first_passed.get(name, (0, 0)), node.last_passed[name]
    return {
        "interface": name,
        "sent_bytes": max(0, last[0] - first[0]),
        "received_bytes": max(0, last[1] - first[1]),
    }


def _replica_bytes_sent(log: RankLog) -> int:
    """In saves to peers' memory."""
    saved = (e for e in log.events if e["event"] == "saved" and e["path"] == "peer memory")
    return sum(event["bytes"] for event in saved)


def _replica_bytes_fetched(log: RankLog) -> int:
    """In restores from peers' memory."""
    return sum(event["bytes"] for event in log.events if event["event"] == "fetched")
