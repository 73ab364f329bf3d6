"""Hosts as network namespaces: a bridge for each site, a WAN between the sites."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.errors import TestbedError
from testbed.network.wan import DEVICE, MTU_BYTES, READY, WanSite, WanSpec, read_counters
from testbed.network.wan_link import LinkSpec
from testbed.process import kill, launch, log_end

_PREFIX = "edgeplace-"
_LOCK = Path("/run/edgeplace-testbed.lock")
_PREFIX_OF_SITES = "10.88"
_EVERYWHERE = f"{_PREFIX_OF_SITES}.0.0/16"
_WIRE = "edgeplace0"
_OUTSIDE, _INSIDE = "10.89.0.1", "10.89.0.2"
_READY_SECONDS = 60.0
_WAN_NICENESS = -10


@dataclass(frozen=True)
class Host:
    """A machine with an address of its own at a site."""

    name: str
    site: str


@dataclass(frozen=True)
class LinkCount:
    """The traffic of a directed link so far."""

    carried_bytes: int
    dropped_packets: int


class Namespaces:
    """Hosts at sites, joined by links, for the time of the ``with`` block.

    The machine's own namespace reaches one host, by a connection outside the WAN.

    Parameters
    ----------
    hosts
        The hosts; their sites are all the sites there are.
    links
        Directed links between the sites.
    reached_from_outside
        The host that this process can talk to.
    folder
        Existing folder for the WAN's files and log.

    Raises
    ------
    TestbedError
        If this is not root, another testbed is running, or something is missing on this machine.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        links: Sequence[LinkSpec],
        reached_from_outside: str,
        folder: Path,
    ) -> None:
        self._hosts = hosts
        self._reached = reached_from_outside
        self._folder = folder
        self._sites = list(dict.fromkeys(host.site for host in hosts))
        sites = {
            site: WanSite(_PREFIX + f"site-{site}", f"{_PREFIX_OF_SITES}.{i}.0/24")
            for i, site in enumerate(self._sites)
        }
        self._spec = WanSpec(sites, links, str(folder / "wan-counters"))
        self._spec.routes()  # Refuses wrong links before anything is made.
        self._wan: subprocess.Popen[bytes] | None = None
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            cleanup.enter_context(_only_one())
            cleanup.callback(_remove_all)
            _remove_all()
            for site in self._sites:
                self._make_site(site)
            self._join_outside()
            self._start_wan()
            cleanup.callback(self._stop_wan)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    @property
    def outside_address(self) -> str:
        """Address of the host that is reached from outside, as seen from there."""
        return _INSIDE

    def namespace(self, host: str) -> str:
        """Return the name of a host's network namespace."""
        return f"{_PREFIX}{host}"

    def address(self, host: str) -> str:
        """Return the address of a host, as the others see it."""
        site = next(each.site for each in self._hosts if each.name == host)
        number = [each.name for each in self._hosts if each.site == site].index(host)
        return f"{self._prefix(site)}.{number + 2}"

    def set_links(self, links: Sequence[LinkSpec]) -> None:
        """Change the links, the same ones in the same order, also for packets in flight."""
        ends = [(link.source, link.target) for link in links]
        if ends != [(link.source, link.target) for link in self._spec.links]:
            raise ValueError("links between other sites, or in another order")
        self._spec = WanSpec(self._spec.sites, links, self._spec.counters)
        self._write_spec()
        if self._wan is None or self._wan.poll() is not None:
            raise TestbedError(f"the WAN has ended:\n{log_end(self._log, 20)}")
        self._wan.send_signal(signal.SIGHUP)

    def counts(self) -> dict[tuple[str, str], LinkCount]:
        """Return bytes and dropped packets of each directed link so far, by source and target."""
        return link_counts(self._spec)

    @property
    def _log(self) -> Path:
        return self._folder / "wan.log"

    @property
    def spec_file(self) -> Path:
        """File that says which links there are, and where their counts are."""
        return self._folder / "wan.json"

    def _prefix(self, site: str) -> str:
        return self._spec.sites[site].subnet.rpartition(".")[0]

    def _make_site(self, site: str) -> None:
        """Make a router with a bridge, and the hosts behind it."""
        router = self._spec.sites[site].namespace
        gateway = f"{self._prefix(site)}.1"
        _make_namespace(router)
        _ip(router, "link add lan type bridge")
        _ip(router, f"addr add {gateway}/24 dev lan")
        _ip(router, f"link set lan mtu {MTU_BYTES} up")
        _run(["ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1"])
        for number, host in enumerate(h for h in self._hosts if h.site == site):
            name = self.namespace(host.name)
            _make_namespace(name)
            _ip(router, f"link add lan{number} type veth peer name eth0 netns {name}")
            _ip(router, f"link set lan{number} mtu {MTU_BYTES} master lan up")
            _ip(name, f"addr add {self.address(host.name)}/24 dev eth0")
            _ip(name, f"link set eth0 mtu {MTU_BYTES} up")
            _ip(name, f"route add default via {gateway}")

    def _join_outside(self) -> None:
        name = self.namespace(self._reached)
        _run(["ip", *f"link add {_WIRE} type veth peer name outside netns {name}".split()])
        _run(["ip", *f"addr add {_OUTSIDE}/30 dev {_WIRE}".split()])
        _run(["ip", *f"link set {_WIRE} up".split()])
        _ip(name, f"addr add {_INSIDE}/30 dev outside")
        _ip(name, "link set outside up")

    def _start_wan(self) -> None:
        self._write_spec()
        command = [sys.executable, "-m", "testbed.network.wan", str(self.spec_file)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        self._wan = launch(command, self._log, environment)
        # A network does not wait for a processor, however busy this machine is.
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, self._wan.pid, _WAN_NICENESS)
        deadline = time.monotonic() + _READY_SECONDS
        while READY not in self._log.read_text():
            if self._wan.poll() is not None or time.monotonic() > deadline:
                raise TestbedError(f"the WAN does not start:\n{log_end(self._log, 20)}")
            time.sleep(0.05)
        for site in self._spec.sites.values():
            _ip(site.namespace, f"link set {DEVICE} mtu {MTU_BYTES} txqueuelen 1000 up")
            _ip(site.namespace, f"route add {_EVERYWHERE} dev {DEVICE}")

    def _stop_wan(self) -> None:
        if self._wan is not None:
            kill(self._wan)

    def _write_spec(self) -> None:
        draft = self.spec_file.with_suffix(".draft")
        draft.write_text(self._spec.to_json())
        draft.rename(self.spec_file)


def link_counts(spec: WanSpec) -> dict[tuple[str, str], LinkCount]:
    """Return bytes and dropped packets of each directed link so far, by source and target."""
    return {
        (link.source, link.target): LinkCount(*counts)
        for link, counts in zip(spec.links, read_counters(spec), strict=True)
    }


@contextmanager
def _only_one() -> Iterator[None]:
    """Take the lock that only one testbed may have; the kernel releases it when this process
    ends.
    """
    if os.geteuid() != 0:
        raise TestbedError("root is needed: the hosts are network namespaces")
    with _LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TestbedError("another testbed is running on this machine") from None
        yield


def remove_left() -> None:
    """Remove the namespaces that a killed testbed has left.

    Raises
    ------
    TestbedError
        If a testbed is running.
    """
    with _only_one():
        _remove_all()


def _remove_all() -> None:
    """Remove all namespaces of a testbed, this one's or a killed one's, and so their devices."""
    # First: it would disappear with the namespace of its other end, at any time from then on.
    _remove_device(Path("/sys/class/net", _WIRE))
    listed = json.loads(_run(["ip", "-j", "netns", "list"]) or "[]")
    for name in (entry["name"] for entry in listed):
        if name.startswith(_PREFIX):
            _run(["ip", "netns", "delete", name])


def _remove_device(device: Path) -> None:
    """Remove a device, if it is there: the kernel may be removing that of a killed testbed."""
    if device.exists():
        try:
            _run(["ip", "link", "delete", device.name])
        except TestbedError:
            if device.exists():
                raise


def _make_namespace(name: str) -> None:
    _run(["ip", "netns", "add", name])
    _ip(name, "link set lo up")


def _ip(namespace: str, command: str) -> None:
    _run(["ip", "-n", namespace, *command.split()])


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise TestbedError(f"no {command[0]} found. Maybe: apt-get install iproute2") from None
    except subprocess.CalledProcessError as error:
        raise TestbedError(f"{' '.join(command)}: {error.stderr.strip()}") from error
    return done.stdout
