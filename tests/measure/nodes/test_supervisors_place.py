"""Where a supervisor can be reached: real sockets on the loopback."""

import socket
from contextlib import closing

import pytest

from measure.nodes.line import Door
from measure.nodes.place import address_of, address_towards, reserved_port

_LOOPBACK = "127.0.0.1"


def test_doors_open_on_a_reserved_port_one_after_the_other_and_nobody_else_gets_it() -> None:
    with reserved_port(_LOOPBACK) as port:
        for _ in range(2):
            with closing(Door(_LOOPBACK, port, b"key")) as door:
                assert door.port == port
                with closing(socket.create_connection((_LOOPBACK, port), timeout=5)):
                    pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((_LOOPBACK, port), timeout=5)
        with socket.socket() as other, pytest.raises(OSError, match="already in use"):
            other.bind((_LOOPBACK, port))


def test_addresses() -> None:
    assert address_of("localhost") == _LOOPBACK
    assert address_of("10.1.2.3") == "10.1.2.3"
    assert address_towards(_LOOPBACK) == _LOOPBACK
