"""A cluster file made of what Flink has registered."""

import socket
from contextlib import closing

import pytest
import yaml

from edgeplace.adapters.flink.discover.cluster_yaml import cluster_yaml
from edgeplace.adapters.flink.discover.discover import born_where_it_runs, discover
from edgeplace.adapters.flink.discover.ping import round_trips_ms
from edgeplace.adapters.flink.discover.sites import Sites
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.live import LiveFlink
from edgeplace.model import Cluster, InvalidInputError, RateUnit, parse
from tests.support.fake_flink import FakeFlink
from tests.support.fake_job import FakeTaskManager

URL = "http://flink:8081"
SITES = Sites.model_validate(
    {
        "sites": [
            {"id": "lyon", "hosts": ["10.0.0.[12]"], "node_class": "pi"},
            {"id": "nice", "hosts": ["pi-3"], "node_class": "pi"},
            {"id": "cloud", "hosts": ["10.0.0.9"], "node_class": "server", "tier": "cloud"},
        ],
        "links": [
            {"source": "lyon", "target": "cloud", "bandwidth_bytes_per_s": 5e5, "both_ways": True},
            {"source": "nice", "target": "cloud", "delay_ms": 2.5, "both_ways": True},
        ],
        "node_classes": [{"id": "pi", "speed": 0.3}, {"id": "server", "speed": 1}],
        "checkpoint_storage": "cloud",
        "mtu_bytes": 1400,
    }
)


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        yield running


@pytest.fixture
def discovered(flink):
    def run(sites: Sites | None = None):
        with FlinkClient(flink.url) as client:
            return discover(client, sites)

    return run


def test_a_host_is_a_node(flink, discovered):
    cluster = discovered().cluster
    assert [(n.id, n.cores) for n in cluster.nodes] == [
        ("pi-1", 4),
        ("pi-2", 4),
        ("pi-3", 4),
        ("server", 4),
    ]
    assert {t.id: (t.node, t.slots, t.host, t.memory_bytes) for t in cluster.task_managers} == {
        "pi-1": ("pi-1", 2, "10.0.0.1", 1e9),
        "pi-2": ("pi-2", 2, "10.0.0.2", 1e9),
        "pi-3": ("pi-3", 2, "10.0.0.3", 1e9),
        "server": ("server", 4, "10.0.0.9", 1e9),
    }


def test_a_generated_id_is_not_used_as_a_name(flink, discovered):
    flink.task_managers = [FakeTaskManager("10.0.0.7:46001-e75116", "10.0.0.7", 2)]
    found = discovered()
    assert [t.id for t in found.cluster.task_managers] == ["10.0.0.7"]
    # It has another id when it has restarted.
    assert found.cluster.resolve_task_manager("10.0.0.7:50123-0a1b2c") == "10.0.0.7"


def test_task_managers_share_a_node(flink, discovered):
    flink.task_managers += [FakeTaskManager("10.0.0.9:1-e75116", "10.0.0.9", 3)]
    cluster = discovered().cluster
    assert {n.id for n in cluster.nodes} == {"10.0.0.9", "pi-1", "pi-2", "pi-3"}
    shared = {t.id: t.slots for t in cluster.task_managers if t.node == "10.0.0.9"}
    assert shared == {"10.0.0.9:1-e75116": 3, "server": 4}
    assert any("taskmanager.resource-id" in note for note in cluster.notes)


def test_what_flink_does_not_know_is_labelled(discovered):
    cluster = discovered().cluster
    assert [s.id for s in cluster.sites] == ["site-1"]
    defaults = [note for note in cluster.notes if note.startswith("default: ")]
    for what in ("sites", "links", "classes", "checkpoints"):
        assert any(what in note for note in defaults), what


def test_sites_are_found_by_host_or_resource_id(discovered):
    cluster = discovered(SITES).cluster
    assert {n.id: (n.site, n.node_class) for n in cluster.nodes} == {
        "pi-1": ("lyon", "pi"),
        "pi-2": ("lyon", "pi"),
        "pi-3": ("nice", "pi"),
        "server": ("cloud", "server"),
    }
    assert {s.id: s.tier for s in cluster.sites}["cloud"] == "cloud"
    assert cluster.links == SITES.links
    assert cluster.node_classes == SITES.node_classes
    assert cluster.checkpoint_storage == "cloud"
    assert cluster.mtu_bytes == 1400
    assert not [note for note in cluster.notes if note.startswith("default: ")]


@pytest.mark.parametrize(
    ("hosts", "said"), [(["10.0.9.*"], "at none of the sites"), (["10.0.0.*"], "several sites")]
)
def test_a_machine_has_one_site(discovered, hosts, said):
    other = SITES.sites[0].model_copy(update={"hosts": tuple(hosts)})
    sites = SITES.model_copy(update={"sites": (other, *SITES.sites[1:])})
    with pytest.raises(InvalidInputError, match=said) as e:
        discovered(sites)
    assert "'10.0.0." in e.value.what and e.value.cure


def test_sites_of_one_machine_need_addresses_of_their_own(flink, discovered):
    flink.task_managers = [FakeTaskManager(name, "localhost", 2) for name in ("pi-1", "hub-1")]
    sites = Sites(sites=[{"id": s, "hosts": [f"{s}-*"]} for s in ("pi", "hub")])
    with pytest.raises(InvalidInputError, match=r"'localhost' .* is at several sites") as e:
        discovered(sites)
    assert "taskmanager.host: 127.0.0.2" in e.value.cure


def test_prices_and_units_of_sites_are_those_of_the_cluster(discovered):
    link = {"source": "lyon", "target": "cloud", "both_ways": True, "delay_ms": 25}
    said = {
        **SITES.model_dump(mode="json", exclude_defaults=True),
        "links": [{**link, "bandwidth_bytes_per_s": "4 Mbit/s", "price_per_byte": "4 EUR/GB"}],
    }
    with pytest.raises(InvalidInputError, match="a price in EUR") as e:
        parse(said, Sites, "sites.yaml")
    assert "add `currency: EUR`" in e.value.cure
    found = discovered(parse({**said, "currency": "EUR"}, Sites, "sites.yaml"))
    read = parse(yaml.safe_load(cluster_yaml(found, URL)), Cluster, "the file")
    assert read.currency == "EUR" and read.rates_in is RateUnit.BITS
    assert [(a.price_per_byte, a.bandwidth_bytes_per_s) for a in read.links] == [(4e-9, 5e5)]


def test_no_task_managers(flink, discovered):
    flink.task_managers = []
    with pytest.raises(InvalidInputError, match="no TaskManager is registered"):
        discovered()


def test_buffers_are_those_of_the_configuration(flink, discovered):
    flink.configuration["taskmanager.memory.segment-size"] = "8kb"
    assert discovered().cluster.buffer_bytes == 8192


@pytest.mark.parametrize("sites", [None, SITES])
def test_the_file_is_the_cluster_with_comments(flink, discovered, sites):
    flink.task_managers += [FakeTaskManager("tm: #2", "10.0.0.9", 3)]
    found = discovered(sites)
    text = cluster_yaml(found, URL)
    read = parse(yaml.safe_load(text), Cluster, "the file")
    assert {t.id: t for t in read.task_managers} == {t.id: t for t in found.cluster.task_managers}
    # Those that share a node come first in a file.
    assert read.model_copy(update={"task_managers": found.cluster.task_managers}) == found.cluster
    assert text.startswith(f"# The cluster at {URL} as Flink 2.3.0")
    assert ("# default: no links" in text) is (sites is None)
    flink.task_managers.reverse()
    assert cluster_yaml(discovered(sites), URL) == text


def test_a_release_cannot_end_its_comment(flink, discovered):
    found = discovered()
    text = cluster_yaml(type(found)("2.3\nnodes: []", found.cluster, found.registered), URL)
    assert parse(yaml.safe_load(text), Cluster, "the file") == found.cluster


def test_sources_are_born_where_they_run(flink, discovered):
    with FlinkClient(flink.url) as client:
        live = LiveFlink(client)
        graph, places = live.job_graph("a" * 32), live.placement("a" * 32)
    job = born_where_it_runs(graph, places, discovered().cluster)
    assert {op.name: op.born_at for op in job.operators} == {
        "Source: lines": ("pi-1", "pi-2"),
        "map": (),
        "Sink: out": (),
    }
    assert any(note.startswith("default: ") and "born" in note for note in job.notes)
    nowhere = {**places, f"{1:032x}": ("pi-1", None)}
    assert born_where_it_runs(graph, nowhere, discovered().cluster) == graph


def test_round_trips():
    def tm(ident, host, data, rpc):
        path = f"pekko.tcp://flink@{host}:{rpc}/user/rpc/taskmanager_0"
        return {"id": ident, "path": path, "dataPort": data}

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with closing(socket.create_server(("127.0.0.1", 0))) as other:
            closed = other.getsockname()[1]
        found = round_trips_ms(
            {
                "taskmanagers": [
                    tm("by data port", "127.0.0.1", port, closed),
                    tm("by rpc port", "127.0.0.1", -1, port),
                    tm("closed", "127.0.0.1", closed, closed),
                    {"id": "no address", "path": "local"},
                ]
            }
        )
    assert found.pop("by data port") > 0
    assert found.pop("by rpc port") > 0
    assert found == {"closed": None, "no address": None}
