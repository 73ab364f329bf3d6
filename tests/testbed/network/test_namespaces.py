"""The emulated WAN, with real packets."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
namespaces = pytest.importorskip("testbed.network.namespaces", reason=REASON)
wan_link = pytest.importorskip("testbed.network.wan_link", reason=REASON)
errors = pytest.importorskip("testbed.errors", reason=REASON)
pytestmark = pytest.mark.live

DELAY_MS = 20.0
RATE_BYTES_PER_S = 250_000.0
SITES = ("lyon", "nice", "cloud")
HOSTS = [("pi-1", "lyon"), ("pi-2", "lyon"), ("pi-3", "nice"), ("server", "cloud")]
TRIPS = 10
"""On a busy machine, one of them alone may take long."""
# Answers questions, then counts what else comes.
SINK = f"""
import json, socket, time
listener = socket.create_server(("0.0.0.0", 5000))
print("up", flush=True)
for _ in range(2):
    peer, _ = listener.accept()
    for _ in range({TRIPS}):
        peer.sendall(peer.recv(100))
    count, start = 0, time.monotonic()
    while data := peer.recv(65536):
        count += len(data)
    print(json.dumps({{"bytes_per_s": count / (time.monotonic() - start)}}), flush=True)
"""
# Takes the shortest time of a question and its answer, then sends for a while.
SENDER = f"""
import socket, sys, time
peer = socket.create_connection((sys.argv[1], 5000))
trips = []
for _ in range({TRIPS}):
    start = time.monotonic()
    peer.sendall(b"?")
    peer.recv(100)
    trips.append(time.monotonic() - start)
print(1000 * min(trips))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    peer.sendall(bytes(20_000))
"""


# Makes the same network, says so, and waits to be killed.
KILLED = """
import sys, time
from pathlib import Path
from testbed.network.namespaces import Host, Namespaces
from testbed.network.wan_link import LinkSpec
hosts = [Host("pi-1", "lyon"), Host("server", "cloud")]
ends = [("lyon", "cloud"), ("cloud", "lyon")]
with Namespaces(hosts, [LinkSpec(*e) for e in ends], "server", Path(sys.argv[1])):
    print("up", flush=True)
    time.sleep(600)
"""


def links(rate: float = RATE_BYTES_PER_S) -> "list[wan_link.LinkSpec]":
    ends = [(s, "cloud") for s in SITES[:2]] + [("cloud", s) for s in SITES[:2]]
    return [wan_link.LinkSpec(a, b, rate, DELAY_MS) for a, b in ends]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[namespaces.Namespaces]":
    if os.geteuid() != 0 or not shutil.which("ip") or not Path("/dev/net/tun").exists():
        pytest.skip("root, iproute2 and /dev/net/tun are needed to make network namespaces")
    hosts = [namespaces.Host(name, site) for name, site in HOSTS]
    # What a killed testbed leaves is in nobody's way.
    killed = [sys.executable, "-c", KILLED, str(tmp_path_factory.mktemp("killed"))]
    environment = {**os.environ, "PYTHONPATH": str(Path(namespaces.__file__).parents[2])}
    with subprocess.Popen(killed, stdout=subprocess.PIPE, text=True, env=environment) as first:
        assert first.stdout and first.stdout.readline() == "up\n"
        first.kill()
    folder = tmp_path_factory.mktemp("wan")
    with namespaces.Namespaces(hosts, links(), "server", folder) as made:
        yield made
    left = json.loads(subprocess.check_output(["/sbin/ip", "-j", "netns", "list"]) or "[]")
    assert not [entry for entry in left if entry["name"].startswith("edgeplace-")]


def send(network: "namespaces.Namespaces", a: str, b: str, seconds: float) -> tuple[float, float]:
    """Return the round trip in ms and the bytes per second that came through."""

    def inside(host: str, *command: str) -> list[str]:
        return [
            "/sbin/ip",
            "netns",
            "exec",
            network.namespace(host),
            sys.executable,
            "-c",
            *command,
        ]

    with subprocess.Popen(inside(b, SINK), stdout=subprocess.PIPE, text=True) as sink:
        assert sink.stdout
        try:
            sink.stdout.readline()
            command = inside(a, SENDER, network.address(b), str(seconds))
            trip_ms = float(subprocess.check_output(command, text=True, timeout=60))
            return trip_ms, json.loads(sink.stdout.readline())["bytes_per_s"]
        finally:
            sink.kill()


def test_a_link_has_its_delay_and_its_rate_and_counts_what_it_carries(
    network: "namespaces.Namespaces",
) -> None:
    before = network.counts()
    trip_ms, bytes_per_s = send(network, "pi-1", "server", 3.0)
    after = network.counts()

    assert 2 * DELAY_MS <= trip_ms < 2 * DELAY_MS + 30
    # Headers take their part, and the queue gives what it holds at the end.
    assert 0.6 * RATE_BYTES_PER_S < bytes_per_s < 1.1 * RATE_BYTES_PER_S
    carried = {e: after[e].carried_bytes - before[e].carried_bytes for e in after}
    assert carried["lyon", "cloud"] > 3.0 * bytes_per_s
    assert 0 < carried["cloud", "lyon"] < carried["lyon", "cloud"] / 4
    assert carried["nice", "cloud"] == carried["cloud", "nice"] == 0


def test_two_sites_reach_each_other_over_the_cloud(network: "namespaces.Namespaces") -> None:
    before = network.counts()
    trip_ms, _ = send(network, "pi-1", "pi-3", 1.0)
    after = network.counts()

    assert 4 * DELAY_MS <= trip_ms < 4 * DELAY_MS + 30
    for ends in (("lyon", "cloud"), ("cloud", "nice")):
        assert after[ends].carried_bytes - before[ends].carried_bytes > RATE_BYTES_PER_S / 2


def test_inside_a_site_there_is_no_wan(network: "namespaces.Namespaces") -> None:
    before = network.counts()
    trip_ms, bytes_per_s = send(network, "pi-1", "pi-2", 0.5)

    assert trip_ms < DELAY_MS
    assert bytes_per_s > 10 * RATE_BYTES_PER_S
    after = network.counts()
    # Connections of other tests may still be ending.
    assert all(after[e].carried_bytes - before[e].carried_bytes < 10_000 for e in after)


def test_links_change_under_what_is_in_flight(network: "namespaces.Namespaces") -> None:
    network.set_links(links(10 * RATE_BYTES_PER_S))
    try:
        time.sleep(0.2)
        _, bytes_per_s = send(network, "pi-1", "server", 2.0)
    finally:
        network.set_links(links())

    assert bytes_per_s > 2 * RATE_BYTES_PER_S


def test_a_device_that_the_kernel_removes_meanwhile_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    device = tmp_path / "edgeplace0"

    def refused(command: list[str]) -> str:
        raise errors.TestbedError(" ".join(command))

    def refused_as_it_is_gone(command: list[str]) -> str:
        device.unlink()
        return refused(command)

    device.touch()
    monkeypatch.setattr(namespaces, "_run", refused)
    with pytest.raises(errors.TestbedError, match="link delete edgeplace0"):
        namespaces._remove_device(device)
    monkeypatch.setattr(namespaces, "_run", refused_as_it_is_gone)
    namespaces._remove_device(device)
    namespaces._remove_device(device)


def test_there_is_one_testbed_at_a_time(network: "namespaces.Namespaces", tmp_path: Path) -> None:
    hosts = [namespaces.Host(name, site) for name, site in HOSTS]
    with (
        pytest.raises(errors.TestbedError, match="another testbed"),
        namespaces.Namespaces(hosts, links(), "server", tmp_path),
    ):
        pass
    assert network.counts()
