"""What world sizes fit: the checks that more than one architecture makes."""

from measure.errors import ShapeError, UsageError
from measure.interfaces.workload import LayeredWorkload, Workload


def at_least(smallest: int, world_size: int, why: str) -> None:
    """ShapeError below `smallest` ranks; `why` completes 'at least N ranks: ...'."""
    if world_size < smallest:
        raise ShapeError(f"at least {smallest} ranks are needed, not {world_size}: {why}")


def layered(workload: Workload) -> LayeredWorkload:
    """The workload, known to be a stack of equal blocks; UsageError otherwise."""
    if not isinstance(workload, LayeredWorkload):
        raise UsageError(
            f"{workload.name} cannot be cut into layers: this architecture trains a "
            "megatron-mlp workload"
        )
    return workload


def divides(parts: int, whole: int, what: str) -> None:
    """ShapeError unless `whole` can be cut into `parts` equal parts; names the sizes that fit."""
    if parts < 1 or whole % parts:
        fitting = [n for n in range(1, min(whole, 64) + 1) if whole % n == 0]
        raise ShapeError(
            f"{what} is {whole}, which {parts} ranks cannot share equally; these can: "
            + ", ".join(map(str, fitting))
        )
