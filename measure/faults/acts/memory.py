"""Faults of what a rank holds in its host's memory for a recovery."""

from pathlib import Path

from measure.faults.acts.act import Act, CannotStrikeError, Scene, Told
from measure.faults.acts.bits import flip_in_file
from measure.state import segment_names
from measure.state.errors import CorruptStateError
from measure.state.segments import DATA_AT, Content, Slot

_OWNER = "-o"


class FlipReplica(Act):
    """Flips a bit of one of the states that this rank holds, its own copy included: of those of
    the newest save one by chance."""

    def strike(self, at: Scene, told: Told) -> None:
        """Where any is there by now."""
        held = _held(at)
        if not held:
            raise CannotStrikeError("this rank holds no state in shared memory yet")
        newest = max((content.generation, content.step) for _, content in held)
        path, content = self.random.choice(
            [(path, c) for path, c in held if (c.generation, c.step) == newest]
        )
        size, bit = content.layout.size_bytes, self.params.get("bit")
        done = flip_in_file(path, DATA_AT, size, self.random, bit)
        told({"owner": content.owner, "saved": content.step, **done})


def _held(at: Scene) -> list[tuple[Path, Content]]:
    """The states in the slots of this rank, unread, by the names of their memory."""
    found = []
    for what in segment_names.held(at.run_key, at.rank, at.node):
        _, is_slot, owner = what.partition(_OWNER)
        number = owner.partition("-")[0]
        if not is_slot or not number.isdigit():
            continue
        path = segment_names.path_of(at.run_key, at.rank, what, at.node)
        content = _described(Slot(path, at.rank, int(number)))
        if content is not None:
            found.append((path, content))
    return found


def _described(slot: Slot) -> Content | None:
    slot.open()
    try:
        return slot.described()
    except CorruptStateError:
        return None
    finally:
        slot.close()
