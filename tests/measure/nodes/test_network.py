"""This host's interfaces."""

import socket

import pytest

from measure.nodes import network


def test_the_loopback_has_its_address_and_is_found_by_any_of_its_own() -> None:
    assert network.addresses()["lo"] == "127.0.0.1"
    assert network.interface_of("127.0.0.1") == "lo"
    assert network.interface_of("127.9.9.9") == "lo"


def test_every_address_leads_to_its_interface() -> None:
    for name, address in network.addresses().items():
        assert network.interface_of(address) == name


def test_nobody_has_an_address_for_documentation() -> None:
    assert network.interface_of("192.0.2.1") == ""


def test_what_passes_is_counted() -> None:
    before = network.passed_bytes("lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(1000), ("127.0.0.1", 9))
    after = network.passed_bytes("lo")
    sent, received = after[0] - before[0], after[1] - before[1]
    assert sent >= 1000
    assert received >= 1000
    assert network.passed_bytes("no such interface") == (0, 0)


def test_the_loopback_is_never_cut() -> None:
    with pytest.raises(OSError, match="no link between nodes"):
        network.cut("lo")
    socket.create_server(("127.0.0.1", 0)).close()


def test_what_is_not_there_cannot_be_cut() -> None:
    with pytest.raises(OSError, match="No such device"):
        network.cut("none0")
