"""The address of the page and the metrics: who is answered, with what, and what cannot be done."""

import socket
import urllib.error
import urllib.request

import pytest

from edgeplace.commands.control.running.serving import answer, served
from edgeplace.control.loop.memory import Memory
from edgeplace.model import InvalidInputError


def look():
    return Memory(now_s=5.0), 7.0


@pytest.fixture
def address():
    with served("127.0.0.1:0", look) as url:
        yield url


def test_the_page_and_the_metrics(address):
    with urllib.request.urlopen(address) as page:  # noqa: S310 - our own address
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert b"<!DOCTYPE html>" in page.read()
    with urllib.request.urlopen(f"{address}metrics") as text:  # noqa: S310
        assert text.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert b"edgeplace_control_leader 1.0\n" in text.read()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed_there(address, method):
    with pytest.raises(urllib.error.HTTPError) as e:
        urllib.request.urlopen(urllib.request.Request(address, b"", method=method))  # noqa: S310
    assert e.value.code == 501


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/", "127.0.0.1:9550", 200),
        ("/?again", "localhost", 200),
        ("/metrics", "[::1]:9550", 200),
        ("/metrics", "[::1]", 200),
        ("/", "made-to-lead-here.example:9550", 403),
        ("/", "", 403),
        ("/etc/passwd", "localhost", 404),
        ("/metrics/../x", "localhost", 404),
    ],
)
def test_who_is_answered(path, host, status):
    assert answer(path, host, look)[0] == status


def test_a_client_that_goes_away_is_no_matter(address, capsys):
    port = int(address.rstrip("/").rsplit(":", 1)[1])
    socket.create_connection(("127.0.0.1", port)).close()
    with urllib.request.urlopen(address):  # noqa: S310
        pass
    assert capsys.readouterr().err == ""


def test_an_address_that_is_taken_is_said(address):
    port = address.rstrip("/").rsplit(":", 1)[1]
    with (
        pytest.raises(InvalidInputError, match="Address already in use"),
        served(f"127.0.0.1:{port}", look),
    ):
        pass


def test_nothing_is_served_unless_it_is_wanted():
    with served(None, look) as url:
        assert url == ""
