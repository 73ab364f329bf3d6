"""Ports for the servers of the testbed."""

import socket

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
server = pytest.importorskip("testbed.server", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)


def test_ports_are_free_and_no_connection_gets_one_by_chance():
    ports = server.free_ports(3)
    assert len({*ports}) == 3
    for port in ports:
        assert port < 32_768
        socket.create_server((server.LOOPBACK, port)).close()


def test_ports_that_are_all_taken_end_the_search(monkeypatch):
    with socket.create_server((server.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "_FOR_SERVERS", range(port, port + 1))
        with pytest.raises(errors.TestbedError, match="has 0 free ports, and 1 are needed"):
            server.free_ports(1)
