"""This host's network interfaces: their addresses, what passed over them, a cut, and its mending.
IPv4."""

import ctypes
import fcntl
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "lo"
_SIOCADDRT = 0x890B
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8914, 0x8915
_IFF_UP = 1
_FLAGS = struct.Struct("16sH22x")  # struct ifreq with the flags
_COUNTERS = Path("/proc/net/dev")  # of this network namespace alone
_ROUTES = Path("/proc/net/route")  # as well


class _Address(ctypes.Structure):
    """struct sockaddr_in; the address as /proc/net/route has it, in the order of the network."""

    _fields_ = (
        ("family", ctypes.c_ushort),
        ("port", ctypes.c_ushort),
        ("address", ctypes.c_uint32),
        ("unused", ctypes.c_byte * 8),
    )


class _Entry(ctypes.Structure):
    """struct rtentry."""

    _fields_ = (
        ("pad1", ctypes.c_ulong),
        ("destination", _Address),
        ("gateway", _Address),
        ("mask", _Address),
        ("flags", ctypes.c_ushort),
        ("pad2", ctypes.c_short),
        ("pad3", ctypes.c_ulong),
        ("pad4", ctypes.c_void_p),
        ("metric", ctypes.c_short),  # and one
        ("device", ctypes.c_char_p),
        ("mtu", ctypes.c_ulong),
        ("window", ctypes.c_ulong),
        ("round_trip", ctypes.c_ushort),
    )


@dataclass(frozen=True, slots=True)
class Link:
    """An interface that was up, and the lines that /proc/net/route had of it: the kernel forgets
    all ways through an interface that goes down."""

    name: str
    routes: tuple[str, ...]


def addresses() -> dict[str, str]:
    """Each interface that has an address, with it."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            try:
                said = fcntl.ioctl(any_socket, _SIOCGIFADDR, _FLAGS.pack(name.encode(), 0))
            except OSError:  # it has none
                continue
            found[name] = socket.inet_ntoa(said[20:24])
    return found


def interface_of(address: str) -> str:
    """The interface with this address: found, where none was chosen. All of 127.0.0.0/8 is the
    loopback's; where none has it, empty."""
    if address.startswith("127."):
        return LOOPBACK
    return next((name for name, has in addresses().items() if has == address), "")


def passed_bytes(interface: str) -> tuple[int, int]:
    """(sent, received) over an interface since it is there; all processes' together."""
    for line in _COUNTERS.read_text(encoding="ascii").splitlines():
        name, colon, counts = line.partition(":")
        if colon and name.strip() == interface:
            fields = counts.split()
            return int(fields[8]), int(fields[0])
    return 0, 0


def cut(interface: str) -> None:
    """Takes an interface down: whoever is beyond it hears nothing any more, not even an end.

    OSError where this process may not, or for the loopback, which is the whole machine's.
    """
    if interface == LOOPBACK:
        raise OSError("the loopback interface is no link between nodes: it is not cut")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = _flags(any_socket, interface)
        _set_flags(any_socket, interface, flags & ~_IFF_UP)


def link(interface: str) -> Link | None:
    """The interface as it is now; None if it is down."""
    if not _is_up(interface):
        return None
    return Link(interface, _routes(interface))


def _routes(interface: str) -> tuple[str, ...]:
    lines = _ROUTES.read_text(encoding="ascii").splitlines()[1:]
    return tuple(line for line in lines if line.split()[0] == interface)


def is_cut(was: Link) -> bool:
    """Whether an interface that was up is down. OSError if it is gone."""
    return not _is_up(was.name)


def mend(was: Link) -> None:
    """Takes an interface up again, with the ways through it. OSError where this process may not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _set_flags(any_socket, was.name, _flags(any_socket, was.name) | _IFF_UP)
        known = _routes(was.name)  # the kernel makes those to neighbours by itself
        missing = [line for line in was.routes if line not in known]
        # First those without a gateway: it is reached by one of them.
        for line in sorted(missing, key=lambda line: line.split()[2] != "00000000"):
            entry = _entry(line)  # has to be there while the kernel reads it
            with suppress(FileExistsError):  # somebody else was here
                fcntl.ioctl(any_socket, _SIOCADDRT, bytes(entry))


def _entry(line: str) -> _Entry:
    """A line of /proc/net/route as the kernel is asked for it."""
    name, *fields = line.split()
    destination, gateway, flags = (int(text, 16) for text in fields[:3])
    metric, mask = int(fields[5]), int(fields[6], 16)
    entry = _Entry(flags=flags, metric=metric + 1, device=name.encode())
    for part, value in (("destination", destination), ("gateway", gateway), ("mask", mask)):
        setattr(entry, part, _Address(family=socket.AF_INET, address=value))
    return entry


def _is_up(interface: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        return bool(_flags(any_socket, interface) & _IFF_UP)


def _flags(any_socket: socket.socket, interface: str) -> int:
    said = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _FLAGS.pack(interface.encode(), 0))
    flags: int = _FLAGS.unpack(said)[1]
    return flags


def _set_flags(any_socket: socket.socket, interface: str, flags: int) -> None:
    fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _FLAGS.pack(interface.encode(), flags))
