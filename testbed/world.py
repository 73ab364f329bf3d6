"""Sites with machines, and a thin WAN between: a real Flink over it.

By default there are two sites with a Pi each, and a cloud with a server.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed.flink.agent_jar import JAR
from testbed.flink.local_cluster import JOB_MANAGER, JobManagerSpec, LocalCluster, TaskManagerSpec
from testbed.network.namespaces import Host, LinkCount, Namespaces
from testbed.network.wan import MTU_BYTES
from testbed.network.wan_link import LinkSpec
from testbed.scratch import scratch_folder

CLOUD = "cloud"
EDGE_SITES = ("lyon", "nice")
SERVER = "server-1"
PIS = {site: f"pi-{site}" for site in EDGE_SITES}
CORES = {**dict.fromkeys(PIS.values(), 0.3), SERVER: 0.8}
"""CPU quotas. All of them together leave some reserve on the two cores of a small machine."""
# A record takes as much CPU time on both; a Pi has less of it (`CORES`).
_SPEEDS = {"pi": 1.0, "server": 1.0}
_SETTINGS = {
    "jobmanager.memory.process.size": "1000m",
    "taskmanager.memory.managed.fraction": "0.1",
    "taskmanager.memory.jvm-metaspace.size": "160m",
    "taskmanager.memory.jvm-overhead.min": "64m",
    "taskmanager.memory.jvm-overhead.max": "64m",
    "taskmanager.memory.framework.heap.size": "64m",
    "taskmanager.memory.network.min": "48m",
    "taskmanager.memory.network.max": "48m",
    # Only the first compiler is used. It ends after seconds, even on a third of a core.
    "env.java.opts.all": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Checkpoints go to the JobManager, so over the WAN, as they do to any storage in the cloud.
    "execution.checkpointing.storage": "jobmanager",
    "state.checkpoint-storage": "jobmanager",  # Its name before Flink 1.20.
    # Checkpoints are sent inside messages.
    "pekko.framesize": "67108864b",
    # A full thin link delays a barrier for many seconds.
    "execution.checkpointing.timeout": "120 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    # Fetching metrics is traffic on the WAN too, so only as often as `collect` needs.
    "metrics.fetcher.update-interval": "4500",
    # No name server is reached from the namespaces, and the JobManager would wait for one.
    "jobmanager.retrieve-taskmanager-hostname": "false",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000000",
    "restart-strategy.fixed-delay.delay": "200 ms",
    "web.refresh-interval": "500",
}


@dataclass(frozen=True)
class QuotaMachine:
    """A machine with one TaskManager of its name."""

    name: str
    site: str
    node_class: str
    slots: int
    process_memory: str
    cores: float
    """CPU quota."""


@dataclass(frozen=True)
class TestbedLayout:
    """The machines, and which sites are joined; the JobManager is in the cloud."""

    machines: tuple[QuotaMachine, ...]
    joined: tuple[tuple[str, str], ...]
    """Pairs of sites, joined in both directions."""

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites of the machines."""
        return tuple(dict.fromkeys(m.site for m in self.machines))


STAR = TestbedLayout(
    (
        *(QuotaMachine(pi, site, "pi", 6, "720m", CORES[pi]) for site, pi in PIS.items()),
        QuotaMachine(SERVER, CLOUD, "server", 14, "980m", CORES[SERVER]),
    ),
    tuple((site, CLOUD) for site in EDGE_SITES),
)
"""Two sites with a Pi each."""


@dataclass(frozen=True)
class Wan:
    """The properties of all links, equal for all."""

    mbit_per_s: float
    """In each direction; 0: no limit."""
    delay_ms: float = 25.0
    """One way."""
    jitter_ms: float = 0.0
    loss: float = 0.0

    def links(self, layout: TestbedLayout = STAR) -> list[LinkSpec]:
        """Return the directed links."""
        ends = [*layout.joined, *((b, a) for a, b in layout.joined)]
        rate = self.mbit_per_s * 1e6 / 8
        return [LinkSpec(a, b, rate, self.delay_ms, self.jitter_ms, self.loss) for a, b in ends]


class World:
    """Namespaces, WAN and Flink with the agent, for the time of the ``with`` block.

    Parameters
    ----------
    home
        Flink home.
    wan
        The links at the start; see `set_wan`.
    layout
        The machines and sites.
    settings
        Flink options on top of the testbed's own.
    agent_options
        What follows the agent's path, e.g. ``lost=fallback``.

    Attributes
    ----------
    cluster
        The Flink processes.
    network
        The hosts and the WAN.

    Raises
    ------
    TestbedError
        As for `Namespaces` and `LocalCluster`.
    """

    cluster: LocalCluster
    network: Namespaces

    def __init__(
        self,
        home: Path,
        wan: Wan,
        layout: TestbedLayout = STAR,
        settings: Mapping[str, str] | None = None,
        agent_options: str = "",
    ) -> None:
        self._home = home
        self.layout = layout
        self._agent = f"-javaagent:{JAR}" + (f"={agent_options}" if agent_options else "")
        self._settings = {**_SETTINGS, **(settings or {})}
        self._set(wan.links(layout))
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            folder = cleanup.enter_context(scratch_folder())
            hosts = [Host(m.name, m.site) for m in self.layout.machines]
            hosts.append(Host(JOB_MANAGER, CLOUD))
            self.network = cleanup.enter_context(Namespaces(hosts, self.links, JOB_MANAGER, folder))
            self.cluster = cleanup.enter_context(
                LocalCluster(
                    self._home,
                    self._task_managers(),
                    self._settings,
                    job_manager=self._job_manager(),
                )
            )
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
    def url(self) -> str:
        """Address of Flink's REST API."""
        return self.cluster.rest.url

    def set_wan(self, wan: Wan) -> None:
        """Change all links, also for packets in flight."""
        self.set_links(wan.links(self.layout))

    def set_links(self, links: Sequence[LinkSpec]) -> None:
        """Change the links, the same ones in the same order."""
        self.network.set_links(links)
        self._set(links)

    def _set(self, links: Sequence[LinkSpec]) -> None:
        self.links = list(links)

    def wan_counts(self) -> dict[tuple[str, str], LinkCount]:
        """Return the traffic of each directed link so far."""
        return self.network.counts()

    def sites_file(self) -> str:
        """Return the content of a user's file for ``edgeplace flink discover --sites``."""
        sites: list[dict[str, Any]] = []
        for name in self.layout.sites:
            here = [m for m in self.layout.machines if m.site == name]
            sites.append(
                {
                    "id": name,
                    "hosts": [m.name for m in here],
                    "node_class": here[0].node_class,
                    **({"tier": "cloud"} if name == CLOUD else {}),
                }
            )
        links = [
            {
                "source": link.source,
                "target": link.target,
                "delay_ms": link.delay_ms,
                **({"bandwidth_bytes_per_s": link.bytes_per_s} if link.bytes_per_s else {}),
            }
            for link in self.links
        ]
        classes = [{"id": name, "speed": speed} for name, speed in _SPEEDS.items()]
        return json.dumps(
            {
                "format": "edgeplace/sites",
                "sites": sites,
                "links": links,
                "node_classes": classes,
                "checkpoint_storage": CLOUD,
                "mtu_bytes": MTU_BYTES,
            },
            indent=1,
        )

    def _task_managers(self) -> Sequence[TaskManagerSpec]:
        return [
            TaskManagerSpec(
                m.name,
                self.network.address(m.name),
                m.slots,
                m.process_memory,
                cores=m.cores,
                namespace=self.network.namespace(m.name),
            )
            for m in self.layout.machines
        ]

    def _job_manager(self) -> JobManagerSpec:
        return JobManagerSpec(
            host=self.network.address(JOB_MANAGER),
            rest_host=self.network.outside_address,
            options={"env.java.opts.jobmanager": self._agent},
            namespace=self.network.namespace(JOB_MANAGER),
        )
