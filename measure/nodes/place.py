"""Where a supervisor can be reached by agents on other hosts: its address and a port. IPv4."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

_DISCARD_PORT = 9


def address_of(host: str) -> str:
    """The address of a host by its name or its address; OSError where nobody knows it."""
    found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
    return str(found[0][4][0])


def address_towards(host: str) -> str:
    """This host's own address on the way to another one, to which nothing is sent; OSError where
    there is no way. (A host's own name often stands for its loopback.)"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, _DISCARD_PORT))
        return str(probe.getsockname()[0])


@contextmanager
def reserved_port(host: str) -> Iterator[int]:
    """A port of this address that nobody else is given while the block lasts. A server that reuses
    addresses, as `Door` does, can listen on it, one after the other: this one only holds it."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((host, 0))
        yield int(held.getsockname()[1])
