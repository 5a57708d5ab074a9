"""The line between a supervisor and an agent: who knows the key comes in, and nobody else."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from measure.nodes import line
from measure.nodes.line import Door, Line, call

KEY, OTHER = b"a key that both know", b"a key that one knows"
PATIENT_S = 10.0


@pytest.fixture
def door() -> Iterator[Door]:
    with closing(Door("127.0.0.1", 0, KEY)) as made:
        yield made


def called(door: Door, key: bytes) -> tuple[Line | None, Line | None]:
    """(the door's end, the caller's end)."""
    found: list[Line | None] = []

    def come() -> None:
        with suppress(OSError):
            found.append(call("127.0.0.1", door.port, key, PATIENT_S))

    calling = threading.Thread(target=come)
    calling.start()
    ours = door.next_line(PATIENT_S)
    calling.join()
    return ours, found[0] if found else None


def test_what_one_says_the_other_hears(door: Door) -> None:
    ours, theirs = called(door, KEY)
    assert ours is not None
    assert theirs is not None
    with closing(ours), closing(theirs):
        assert (ours.address, theirs.address) == ("127.0.0.1", "127.0.0.1")
        ours.say("run", job="x" * 1_000_000)
        heard = theirs.hear()
        assert (heard["said"], len(heard["job"])) == ("run", 1_000_000)
        theirs.say("beat", n=1)
        assert ours.hear() == {"said": "beat", "n": 1}


def test_who_does_not_know_the_key_is_not_let_in(door: Door) -> None:
    assert called(door, OTHER) == (None, None)
    ours, theirs = called(door, KEY)  # and the door is still open to others
    assert ours is not None
    assert theirs is not None
    ours.close()
    theirs.close()


def test_who_comes_and_goes_is_nobody(door: Door) -> None:
    socket.create_connection(("127.0.0.1", door.port)).close()
    assert door.next_line(PATIENT_S) is None


def test_nobody_comes(door: Door) -> None:
    assert door.next_line(0.01) is None


def test_nobody_is_there() -> None:
    with closing(Door("127.0.0.1", 0, KEY)) as gone:
        port = gone.port
    with pytest.raises(OSError, match="refused"):
        call("127.0.0.1", port, KEY, PATIENT_S)


def option(end: Line, level: int, name: int) -> int:
    """An option of the socket of this end."""
    with socket.socket(fileno=end.connection.fileno()) as borrowed:
        found = borrowed.getsockopt(level, name)
        borrowed.detach()
    return found


def test_who_has_come_has_to_say_something_until_it_is_known(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "_HANDSHAKE_S", 1.0)
    ours, theirs = called(door, KEY)
    assert ours is not None
    assert theirs is not None
    with closing(ours), closing(theirs):
        with pytest.raises(BlockingIOError):
            ours.hear()
        assert option(ours, socket.SOL_SOCKET, socket.SO_RCVTIMEO) == 1
        ours.wait_as_long_as_it_takes()
        for end in (ours, theirs):
            assert option(end, socket.SOL_SOCKET, socket.SO_RCVTIMEO) == 0


def test_the_kernel_asks_whether_the_other_host_is_still_there(door: Door) -> None:
    for end in called(door, KEY):
        assert end is not None
        assert option(end, socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert option(end, socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
        end.close()


def test_who_waits_hears_of_the_end(door: Door) -> None:
    ours, theirs = called(door, KEY)
    assert ours is not None
    assert theirs is not None
    with closing(ours), closing(theirs):
        ours.hang_up()
        with pytest.raises((EOFError, OSError)):
            theirs.hear()
        with pytest.raises((EOFError, OSError)):
            ours.hear()
        with pytest.raises(OSError, match="pipe"):
            ours.say("beat")
    ours.hang_up()  # once more is nothing
