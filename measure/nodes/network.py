"""This host's network interfaces: their addresses, what passed over them, and a cut. IPv4."""

import fcntl
import socket
import struct
from pathlib import Path

LOOPBACK = "lo"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8914, 0x8915
_IFF_UP = 1
_FLAGS = struct.Struct("16sH22x")  # struct ifreq with the flags
_COUNTERS = Path("/proc/net/dev")  # of this network namespace alone


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
        name = interface.encode()
        _, flags = _FLAGS.unpack(fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _FLAGS.pack(name, 0)))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _FLAGS.pack(name, flags & ~_IFF_UP))
