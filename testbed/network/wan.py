"""A WAN between network namespaces, in user space.

    python -m testbed.network.wan SPEC.json

Each site's namespace gets a TUN device; every packet that leaves a site passes the links of the
shortest route to the site of its destination, each with a queue, a rate and a delay. The kernel's
own shapers would do, but netem, the one that delays, is missing from many.

The file is read again at SIGHUP: links may change, sites may not. Bytes carried and packets dropped
are counted in the file named by ``counters``, two unsigned 64-bit numbers for each link in order.
"""

import ctypes
import fcntl
import heapq
import itertools
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path

import networkx as nx

from testbed.errors import TestbedError
from testbed.network.wan_link import LinkSpec, WanLink

READY = "ready"
MTU_BYTES = 1400
"""As behind a VPN."""
DEVICE = "wan"
"""In each site's namespace; whoever starts this gives it its routes."""
_TUNSETIFF = 0x400454CA
_IFF_TUN_NO_PI = 0x0001 | 0x1000
_CLONE_NEWNET = 0x40000000
_COUNTS = struct.Struct("=QQ")
_AT_ONCE = 64
"""Most packets read from a device before the others get their turn."""
_VERSION_BYTE, _IPV4 = 0, 4
_DESTINATION = slice(16, 20)


@dataclass(frozen=True)
class WanSite:
    """A site: the namespace of its router, and the addresses behind it."""

    namespace: str
    subnet: str
    """In CIDR notation, /24; the router is its first address."""


@dataclass(frozen=True)
class WanSpec:
    """The whole WAN."""

    sites: Mapping[str, WanSite]
    links: Sequence[LinkSpec]
    counters: str
    """File that the counts are written to."""

    def to_json(self) -> str:
        """Return it as text for the process that carries the packets."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, file: Path) -> "WanSpec":
        """Read the text that `to_json` wrote."""
        data = json.loads(file.read_text())
        return cls(
            {name: WanSite(**site) for name, site in data["sites"].items()},
            [LinkSpec(**link) for link in data["links"]],
            data["counters"],
        )

    def routes(self) -> dict[tuple[str, str], list[int]]:
        """Return the indices of the links from each site to each other one.

        Raises
        ------
        TestbedError
            If a link leads to no known site, or is given twice.
        """
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.sites)
        for index, link in enumerate(self.links):
            if not {link.source, link.target} <= self.sites.keys():
                raise TestbedError(f"link {link.source} -> {link.target}: no such site")
            if graph.has_edge(link.source, link.target):
                raise TestbedError(f"link {link.source} -> {link.target}: given twice")
            graph.add_edge(link.source, link.target, index=index)
        return {
            (a, b): [graph.edges[edge]["index"] for edge in itertools.pairwise(path)]
            for a, paths in nx.all_pairs_shortest_path(graph)
            for b, path in paths.items()
            if a != b
        }


def read_counters(spec: WanSpec) -> list[tuple[int, int]]:
    """Return bytes carried and packets dropped of each link, since the WAN was started."""
    return list(_COUNTS.iter_unpack(Path(spec.counters).read_bytes()))


class _Carrier:
    """Reads packets from the sites' devices, and writes them when they are due."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._spec = WanSpec.read(file)
        self._links = [WanLink(link, seed) for seed, link in enumerate(self._spec.links)]
        devices = {name: _tun(site) for name, site in self._spec.sites.items()}
        self._device_of = {
            socket.inet_aton(str(IPv4Network(site.subnet).network_address))[:3]: devices[name]
            for name, site in self._spec.sites.items()
        }
        routes = self._spec.routes()
        self._devices = list(devices.values())
        self._route = {
            (devices[a], devices[b]): [self._links[index] for index in route]
            for (a, b), route in routes.items()
        }
        # Arrival, order of equal ones, packet, links behind, device at the end.
        self._under_way: list[tuple[float, int, bytes, list[WanLink], int]] = []
        self._order = itertools.count()
        Path(self._spec.counters).write_bytes(bytes(_COUNTS.size * len(self._links)))
        with open(self._spec.counters, "r+b") as counters:
            self._counters = mmap.mmap(counters.fileno(), 0)
        self._position = {id(link): i * _COUNTS.size for i, link in enumerate(self._links)}
        self._reload = False

    def run(self) -> None:
        signal.signal(signal.SIGHUP, self._ask_for_reload)
        print(READY, flush=True)
        while True:
            if self._reload:
                self._reload = False
                for link, spec in zip(self._links, WanSpec.read(self._file).links, strict=True):
                    link.spec = spec
            self._deliver()
            due_s = self._under_way[0][0] - time.monotonic() if self._under_way else None
            readable, _, _ = select.select(
                self._devices, [], [], None if due_s is None else max(0.0, due_s)
            )
            for device in readable:
                self._take(device)

    def _ask_for_reload(self, *_: object) -> None:
        self._reload = True

    def _take(self, device: int) -> None:
        for _ in range(_AT_ONCE):
            try:
                packet = os.read(device, 65535)
            except BlockingIOError:
                return
            if packet[_VERSION_BYTE] >> 4 != _IPV4:
                continue
            target = self._device_of.get(packet[_DESTINATION][:3])
            route = self._route.get((device, target)) if target is not None else None
            if route and target is not None:
                self._send(time.monotonic(), packet, route, target)

    def _send(self, now_s: float, packet: bytes, route: list[WanLink], target: int) -> None:
        link = route[0]
        arrival_s = link.send(now_s, len(packet))
        _COUNTS.pack_into(
            self._counters, self._position[id(link)], link.carried_bytes, link.dropped_packets
        )
        if arrival_s is not None:
            entry = (arrival_s, next(self._order), packet, route[1:], target)
            heapq.heappush(self._under_way, entry)

    def _deliver(self) -> None:
        now_s = time.monotonic()
        while self._under_way and self._under_way[0][0] <= now_s:
            _, _, packet, behind, target = heapq.heappop(self._under_way)
            if behind:
                self._send(now_s, packet, behind, target)
                continue
            try:
                os.write(target, packet)
            except OSError:
                # The site's own queue is full: as on any network, the packet is gone.
                continue


def _tun(site: WanSite) -> int:
    """Make the TUN device of a site in its namespace, and return it."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{site.namespace}", os.O_RDONLY)
    try:
        _set_namespace(there)
        try:
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN_NO_PI))
        finally:
            _set_namespace(home)
    finally:
        os.close(home)
        os.close(there)
    return device


def _set_namespace(handle: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(handle, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


if __name__ == "__main__":
    _Carrier(Path(sys.argv[1])).run()
