"""What is swept of the shared memory of others: one's own leftovers, and nobody else's."""

import os
import secrets
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from measure.state import segment_names

ANOTHER, NOBODY = 65_533, 65_534
NO_PID = 2**22 + 1
"""More than the kernel gives out."""


@pytest.fixture
def key() -> Iterator[str]:
    """Of a run of its own; nothing of it is left."""
    made = secrets.token_hex(6)
    yield made
    segment_names.remove(made)


def left(key: str, uid: int | None = None) -> list[Path]:
    """What a run of a user's whose process is gone left behind: a claim and a slot."""
    claim = segment_names.path_of(key, None, f"owner-{segment_names._namespace()}-{NO_PID}-77")
    slot = segment_names.path_of(key, 0, "o0-1")
    for path in (claim, slot):
        path.write_bytes(b"left")
        if uid is not None:
            os.chown(path, uid, uid)
    return [claim, slot]


def as_user(uid: int, act: Callable[[], object]) -> str:
    """Does that in a process of this user's; its traceback, empty if all went well."""
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            act()
        except BaseException:
            os.write(told, traceback.format_exc().encode())
        os._exit(0)
    os.close(told)
    with os.fdopen(heard, "rb") as said:
        text = said.read().decode()
    os.waitpid(child, 0)
    return text


def test_what_a_run_of_ones_own_left_is_swept(key: str) -> None:
    paths = left(key)
    assert key in segment_names.sweep()
    assert not any(path.exists() for path in paths)


def test_what_lives_is_not_swept(key: str) -> None:
    segment_names.claim(key)
    segment_names.path_of(key, 0, "o0-1").touch()
    assert key not in segment_names.sweep()
    assert segment_names.held(key, 0) == ["o0-1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="to be another user needs root")
def test_what_another_user_left_is_in_nobodys_way(key: str) -> None:
    """The folder is sticky: it cannot be removed, and need not be."""
    paths = left(key, ANOTHER)
    assert as_user(NOBODY, segment_names.sweep) == ""
    assert all(path.exists() for path in paths)
    # Nor by who could: whether it is in use, another user's processes may not show.
    assert key not in segment_names.sweep()
    assert all(path.exists() for path in paths)


@pytest.mark.skipif(os.geteuid() != 0, reason="to be another user needs root")
def test_a_part_that_is_another_users_stays_and_the_rest_goes(key: str) -> None:
    claim, slot = left(key, NOBODY)
    os.chown(slot, ANOTHER, ANOTHER)
    assert as_user(NOBODY, segment_names.sweep) == ""
    assert (claim.exists(), slot.exists()) == (False, True)
