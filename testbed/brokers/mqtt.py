"""Data that is born at the edge: an MQTT broker at each site, and a site that is away."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from testbed.brokers.mosquitto import Mosquitto, find_mosquitto
from testbed.brokers.readings_run import SENSORS, SERVER, SITES, ReadingsRun, SiteAway
from testbed.flink.agent_cluster import TASK_MANAGERS, AgentCluster
from testbed.flink.agent_jar import JAR
from testbed.flink.home import flink_home
from testbed.flink.local_cluster import JOB_MANAGER, JobManagerSpec
from testbed.network.namespaces import Host, Namespaces
from testbed.network.wan_link import LinkSpec
from testbed.scratch import scratch_folder

_CLOUD = "cloud"
_BROKERS = {site: f"broker-{i}" for i, site in enumerate(SITES, 1)}
"""Site -> the host of its broker."""
_BYTES_PER_S, _DELAY_MS = 5e5, 25.0
# So long the sensors go on once the site is back.
_AFTER_S = 40


class MqttBrokers:
    """A Mosquitto at each site.

    Parameters
    ----------
    network
        Has their hosts; None: all is on loopback.
    """

    job = "MqttReadings"
    producer = "MqttProducer"
    libraries: Sequence[Path] = ()

    def __init__(self, network: Namespaces | None = None) -> None:
        self._network = network

    def start(self, folder: Path, cleanup: ExitStack) -> None:
        """Start the brokers."""
        self._brokers = []
        for i, site in enumerate(SITES):
            host = self._network.address(_BROKERS[site]) if self._network else "127.0.0.1"
            broker = Mosquitto(folder / site, host, self.beside(i))
            self._brokers.append(cleanup.enter_context(broker))

    def job_arguments(self) -> Sequence[str]:
        """Return the addresses of the brokers."""
        return (f"brokers={','.join(broker.address for broker in self._brokers)}",)

    def producer_arguments(self, site: int) -> Sequence[str]:
        """Return the address of the site's own broker."""
        return (f"broker={self._brokers[site].address}",)

    def beside(self, site: int) -> Sequence[str]:
        """Return what runs a command at the broker's host."""
        if self._network is None:
            return ()
        return ("ip", "netns", "exec", self._network.namespace(_BROKERS[SITES[site]]))

    def ready_for(self, job: str) -> bool:
        """Return whether each broker knows the session: before, it keeps nothing for it."""
        return all(b.has_subscriber(f"{job}-{i}") for i, b in enumerate(self._brokers))


@contextmanager
def _on_loopback(
    home: Path, per_second: int, records: int
) -> Iterator[tuple[ReadingsRun, Callable[[float], SiteAway]]]:
    """Let a site's TaskManager be killed."""
    with (
        AgentCluster(home, JAR) as flink,
        ReadingsRun(flink, home, MqttBrokers(), per_second, records) as run,
    ):
        yield run, lambda seconds: run.take_away(SITES[0], seconds)


@contextmanager
def _over_a_wan(
    home: Path, per_second: int, records: int, sources_at_sites: bool
) -> Iterator[tuple[ReadingsRun, Callable[[float], SiteAway]]]:
    """Let the link between a site and the cloud be cut: what is sent over it vanishes."""
    places = {site: site if sources_at_sites else _CLOUD for site in SITES}
    places |= {_BROKERS[site]: site for site in SITES} | {SERVER: _CLOUD, JOB_MANAGER: _CLOUD}
    ends = [*((site, _CLOUD) for site in SITES), *((_CLOUD, site) for site in SITES)]
    links = [LinkSpec(a, b, _BYTES_PER_S, _DELAY_MS) for a, b in ends]
    cut = [replace(each, loss=float(SITES[0] in (each.source, each.target))) for each in links]
    hosts = [Host(name, site) for name, site in places.items()]
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        network = stack.enter_context(Namespaces(hosts, links, JOB_MANAGER, folder))
        flink = stack.enter_context(_cluster(home, network, places))
        brokers = MqttBrokers(network)
        run = stack.enter_context(ReadingsRun(flink, home, brokers, per_second, records))
        yield (
            run,
            lambda seconds: run.without(
                SITES[0],
                seconds,
                lambda: network.set_links(cut),
                lambda: network.set_links(links),
            ),
        )


def _cluster(home: Path, network: Namespaces, places: Mapping[str, str]) -> AgentCluster:
    def inside(name: str) -> tuple[str, str]:
        return network.address(name), network.namespace(name)

    task_managers = []
    for spec in TASK_MANAGERS:
        if spec.name in places:
            host, namespace = inside(spec.name)
            task_managers.append(replace(spec, host=host, namespace=namespace))
    host, namespace = inside(JOB_MANAGER)
    # No name server is reached from the namespaces, and the JobManager would wait for one.
    options = {"jobmanager.retrieve-taskmanager-hostname": "false"}
    job_manager = JobManagerSpec(host, network.outside_address, options, namespace)
    return AgentCluster(home, JAR, task_managers=task_managers, job_manager=job_manager, ha=False)


_Fault = Callable[
    [Path, int, int],
    AbstractContextManager[tuple[ReadingsRun, Callable[[float], SiteAway]]],
]
FAULTS: Mapping[str, _Fault] = {
    "kill": _on_loopback,
    "wan": partial(_over_a_wan, sources_at_sites=True),
    "broker": partial(_over_a_wan, sources_at_sites=False),
}
"""What happens to a site: its TaskManager is killed, its WAN is cut, or its broker is out of reach
of the source, which is in the cloud.
"""


def mqtt(version: str, fault: str, away_seconds: float, per_second: int) -> bool:
    """Let a site be away while its sensors go on, print what came of it; return if all is well.

    Parameters
    ----------
    version
        Release of Flink.
    fault
        One of `FAULTS`.
    away_seconds
        How long the site is away.
    per_second
        Messages of each site.
    """
    find_mosquitto()
    site = SITES[0]
    records = int((away_seconds + _AFTER_S) * per_second / SENSORS)
    with FAULTS[fault](flink_home(version), per_second, records) as (run, take_away):
        print(f"{len(SITES)} sites, {per_second} messages/s each; {site} goes", flush=True)
        away = take_away(away_seconds)
        waited = int(away.seconds * per_second)
        print(f"away {away.seconds:.0f} s: about {waited} messages wait in the broker", flush=True)
        seconds = run.wait_for_count(site, away.committed + waited)
        print(f"all of them committed {seconds:.1f} s after the return")
        problems = run.finish()
        twice, again = run.again()
    print(f"{len(SITES) * SENSORS * records} readings sent, {twice} of them twice")
    print(f"{again} messages came again and were counted once")
    for problem in problems:
        print(problem)
    print("nothing lost, nothing doubled" if not problems else "NOT as it should be")
    return not problems
