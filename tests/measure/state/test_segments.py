"""Slots in shared memory: whoever writes may be killed at any moment, and memory may be damaged."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from measure.state import segments
from measure.state.contract import RankState
from measure.state.digest import digests
from measure.state.errors import CorruptStateError, NoSpaceError
from measure.state.layout import Layout, StreamDigests
from measure.state.segments import DATA_AT, Slot
from measure.state.tensor_bytes import view_of
from tests.measure.state.states import small_state, state_of

pytestmark = pytest.mark.integration

CAPACITY = 8192


def slots_in(folder: Path, owner: int = 0) -> list[Slot]:
    """The two slots of an owner, as another process would open them."""
    slots = [Slot(folder / f"o{owner}-{number}", 0, owner) for number in (0, 1)]
    for slot in slots:
        slot.open()
    return slots


def write(slot: Slot, state: RankState, *, commit: bool = True) -> None:
    """One save of `state`."""
    layout, found = Layout.of(state), StreamDigests(Layout.of(state))
    slot.reserve(CAPACITY)
    slot.begin(layout.size_bytes)
    for _ in segments.copied_in(slot, state, layout, found):
        pass
    slot.fill(segments.content_of(state, layout, found, 0, 0))
    if commit:
        slot.commit()


def newest(folder: Path, owner: int = 0) -> RankState | None:
    """The newest committed state of which every byte is right."""
    found: list[RankState] = []
    for slot in slots_in(folder, owner):
        try:
            read = slot.read()
        except CorruptStateError:
            continue
        if read is not None and read[0].committed:
            found.append(read[1])
    return max(found, key=lambda state: state.step, default=None)


def used_bytes(slot: Slot) -> int:
    """How many bytes of the slot mean anything."""
    content = slot.described()
    assert content is not None
    return DATA_AT + content.layout.size_bytes + len(content.encoded())


def test_what_is_read_is_what_was_written(in_memory: Path) -> None:
    slot = slots_in(in_memory)[0]
    state = state_of(4, empty=torch.zeros(0, 3), number=torch.tensor(2.5), large=torch.randn(999))
    write(slot, state)
    read = slots_in(in_memory)[0].read()
    assert read is not None
    assert digests(read[1]) == digests(state)
    assert (read[0].step, read[0].owner, read[0].committed) == (4, 0, True)


def test_what_is_copied_as_from_a_device_is_the_same(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = state_of(4, empty=torch.zeros(0, 3), number=torch.tensor(2.5), large=torch.randn(999))
    monkeypatch.setattr(segments, "_is_on_device", lambda _: True)
    write(slots_in(in_memory)[0], state)
    read = slots_in(in_memory)[0].read()
    assert read is not None
    assert digests(read[1]) == digests(state)


def test_what_is_only_filled_says_so(in_memory: Path) -> None:
    write(slots_in(in_memory)[0], small_state(1), commit=False)
    read = slots_in(in_memory)[0].read()
    assert read is not None
    assert not read[0].committed


def _kill_at(number: int, when: str) -> None:
    """This process kills itself at its `number`-th write into a slot."""
    original, made = Slot.write, 0

    def hooked(slot: Slot, at: int, data: Any) -> None:
        nonlocal made
        made += 1
        if made == number:
            if when == "half":
                original(slot, at, data[: len(data) // 2])
            elif when == "after":
                original(slot, at, data)
            os.kill(os.getpid(), signal.SIGKILL)
        original(slot, at, data)

    setattr(Slot, "write", hooked)  # noqa: B010 - in a process that ends


def _in_child(body: Callable[[], None]) -> int:
    """Runs `body` in a forked process; 0 if it came to its end, else the signal."""
    child = os.fork()
    if child == 0:
        try:
            body()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _steps_found(folder: Path, when: str, target: int) -> Iterator[int]:
    """The step that is read after a kill at the first write, the second, ... and after none."""
    for number in range(1, 100):
        place = folder / f"{when}-{number}"
        place.mkdir()
        old, older = slots_in(place)
        write(older, small_state(1))
        write(old, small_state(2))

        def save(place: Path = place, number: int = number) -> None:
            slot = slots_in(place)[target]
            _kill_at(number, when)
            write(slot, small_state(3))

        code = _in_child(save)
        state = newest(place)
        assert state is not None
        assert digests(state) == digests(small_state(state.step)), "never a third thing"
        yield state.step
        write(slots_in(place)[1], small_state(4))
        after = newest(place)
        assert after is not None
        assert after.step == 4, "the next save succeeds"
        if code == 0:
            return
        assert code == -signal.SIGKILL
    raise AssertionError("more writes than expected")


@pytest.mark.parametrize("when", ["before", "half", "after"])
def test_killed_at_any_write_of_a_save(in_memory: Path, when: str) -> None:
    found = list(_steps_found(in_memory, when, target=1))
    assert found == sorted(found), "the old one up to the commit, the new one from then on"
    assert set(found) == {2, 3}
    assert len(found) > 8


def test_every_byte_that_is_changed_shows(in_memory: Path) -> None:
    slot = slots_in(in_memory)[0]
    write(slot, small_state(3))
    for at in range(used_bytes(slot)):
        for mask in (0x01, 0xFF):
            with _changed(slot, at, mask), pytest.raises(CorruptStateError):
                slot.read()
    assert slot.read() is not None


class _changed:  # noqa: N801 - reads like a verb
    def __init__(self, slot: Slot, at: int, mask: int) -> None:
        self.memory, self.at, self.mask = slot._memory, at, mask

    def __enter__(self) -> None:
        self.memory[self.at] ^= self.mask

    def __exit__(self, *_: object) -> None:
        self.memory[self.at] ^= self.mask


def test_a_byte_behind_the_content_means_nothing(in_memory: Path) -> None:
    slot = slots_in(in_memory)[0]
    write(slot, small_state(3))
    with _changed(slot, used_bytes(slot), 0xFF):
        assert slot.read() is not None


def test_whatever_is_cut_off_shows(in_memory: Path) -> None:
    slot = slots_in(in_memory)[0]
    write(slot, small_state(3))
    for length in range(used_bytes(slot) - 1, 0, -7):
        os.truncate(slot.path, length)
        with pytest.raises(CorruptStateError):
            slots_in(in_memory)[0].read()
        with pytest.raises(CorruptStateError):
            slot.read()  # mapped whole: to read on would end the process
    os.truncate(slot.path, 0)
    assert slots_in(in_memory)[0].read() is None


def test_the_slots_of_two_owners_that_changed_places_show(in_memory: Path) -> None:
    for owner in (0, 1):
        write(slots_in(in_memory, owner)[0], small_state(3, owner, 2))
    (in_memory / "o0-0").rename(in_memory / "kept")
    (in_memory / "o1-0").rename(in_memory / "o0-0")
    (in_memory / "kept").rename(in_memory / "o1-0")
    for owner in (0, 1):
        with pytest.raises(CorruptStateError, match="rank"):
            slots_in(in_memory, owner)[0].read()


def test_another_file_in_the_slot_s_place_shows(in_memory: Path) -> None:
    (in_memory / "o0-0").write_bytes(b"something else" * 1000)
    with pytest.raises(CorruptStateError):
        slots_in(in_memory)[0].read()


def test_a_larger_state_enlarges_its_slot_and_leaves_the_other(in_memory: Path) -> None:
    first, second = slots_in(in_memory)
    write(first, small_state(1))
    write(second, small_state(2))
    large = state_of(3, large=torch.randn(100_000))
    write(first, large)
    assert first.capacity > 400_000
    assert second.capacity == CAPACITY
    state = newest(in_memory)
    assert state is not None
    assert digests(state) == digests(large)


def test_reserving_takes_real_pages(in_memory: Path) -> None:
    slot = slots_in(in_memory)[0]
    slot.reserve(1 << 20)
    assert slot.path.stat().st_blocks * 512 >= 1 << 20


def test_no_room_is_reported_as_such(in_memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    first, second = slots_in(in_memory)
    write(first, small_state(1))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NoSpaceError, match="no room for"):
        write(second, small_state(2))
    state = newest(in_memory)
    assert state is not None
    assert state.step == 1


def test_a_full_memory_file_system(tmp_path: Path) -> None:
    """A real one of 1 MB, where this process may mount one."""
    if os.system(f"mount -t tmpfs -o size=1m none {tmp_path} 2>/dev/null"):  # noqa: S605
        pytest.skip("no right to mount a file system: the test above has the error by itself")
    try:
        slot = slots_in(tmp_path)[0]
        slot.reserve(1 << 18)
        with pytest.raises(NoSpaceError):
            slot.reserve(1 << 21)
        assert segments.free_bytes(tmp_path) <= 1 << 20
    finally:
        slot.close()
        os.system(f"umount {tmp_path}")  # noqa: S605


def test_a_control_group_s_limit_counts(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 300\ninactive_file 200\n")
    assert segments._left_to_control_group(tmp_path) == 500
    (tmp_path / "memory.max").write_text("max\n")
    assert segments._left_to_control_group(tmp_path) > 1 << 60


def test_this_process_s_control_groups_are_asked() -> None:
    groups = segments._control_groups()
    assert groups[-1] == Path("/sys/fs/cgroup")
    assert 0 < segments.free_bytes(Path("/dev/shm")) < 1 << 50  # noqa: S108


def test_a_stream_has_the_digests_of_its_tensors_however_it_is_cut() -> None:
    state = state_of(1, a=torch.randn(5), b=torch.zeros(0), c=torch.randn(11).double())
    layout = Layout.of(state)
    memory = torch.zeros(layout.size_bytes, dtype=torch.uint8)
    for name, view in layout.views(memory).items():
        view.copy_(state.tensors[name])
    for length in (1, 7, 64, 1000):
        found = StreamDigests(layout)
        for at in range(0, len(memory), length):
            found.feed(view_of(memory)[at : at + length])
        content = segments.content_of(state, layout, found, 0, 0)
        assert content.digest == digests(state).whole
    assert Layout.from_json(layout.to_json()) == layout
