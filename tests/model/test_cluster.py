from typing import Any

import pytest

from edgeplace.model import Cluster, InvalidInputError, parse

DATA: dict[str, Any] = {
    "sites": [{"id": "field"}, {"id": "hall", "tier": "cloud"}, {"id": "junction"}],
    "nodes": [
        {"id": "pi-1", "site": "field", "cores": 4, "slots": 2, "host": "10.0.0.2"},
        {"id": "pi-2", "site": "field", "cores": 4, "slots": 0},
        {"id": "server", "site": "hall", "cores": 16, "labels": {"gpu": "yes"}},
    ],
    "task_managers": [
        {"id": "tm-a", "node": "server", "slots": 4, "host": "big"},
        {"id": "tm-b", "node": "server", "slots": 4, "host": "big"},
    ],
    "links": [
        {"source": "field", "target": "junction", "both_ways": True, "delay_ms": 5},
        {"source": "junction", "target": "hall"},
    ],
    "node_classes": [{"id": "pi", "speed": 0.4}],
}


def cluster(**changes: Any) -> Cluster:
    return parse({**DATA, **changes}, Cluster, "cluster.yaml")


def test_nodes_with_slots_have_a_task_manager_of_their_name() -> None:
    tms = {t.id: (t.node, t.slots, t.host) for t in cluster().task_managers}
    assert tms == {
        "tm-a": ("server", 4, "big"),
        "tm-b": ("server", 4, "big"),
        "pi-1": ("pi-1", 2, "10.0.0.2"),
        "pi-2": ("pi-2", 0, ""),
    }


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_nodes_with_slots_beside_an_empty_list(nothing: Any) -> None:
    assert [t.id for t in cluster(task_managers=nothing).task_managers] == ["pi-1", "pi-2"]


def test_links_both_ways_count_twice() -> None:
    links = [(a.source, a.target, a.delay_ms, a.both_ways) for a in cluster().directed_links()]
    assert links == [
        ("field", "junction", 5, False),
        ("junction", "field", 5, False),
        ("junction", "hall", 0, False),
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sites": []}, "sites"),
        (
            {"currency": "euros"},
            "currency: a currency is written as its code of three capital letters (ISO 4217) "
            "(got 'euros')",
        ),
        (
            {"currency": "EUR"},
            "'field' -> 'junction' has no price_per_byte in EUR; give 0 if its bytes cost nothing",
        ),
        ({"sites": [{"id": ""}]}, "sites.0.id"),
        ({"sites": [{"id": 7}]}, "sites.0.id: Input should be a valid string (got 7)"),
        ({"sites": DATA["sites"] * 2}, "two of kind site have the id 'field'"),
        ({"nodes": DATA["nodes"] * 2}, "two of kind node have the id 'pi-1'"),
        (
            {"task_managers": DATA["task_managers"] * 2},
            "two of kind TaskManager have the id 'tm-a'",
        ),
        (
            {"task_managers": [{"id": "pi-1", "node": "server", "slots": 1}]},
            "two of kind TaskManager have the id 'pi-1'",
        ),
        ({"node_classes": DATA["node_classes"] * 2}, "two of kind node class have the id 'pi'"),
        ({"links": DATA["links"] * 2}, "two of kind link have the id 'field -> junction'"),
        (
            {"links": [*DATA["links"], {"source": "junction", "target": "field"}]},
            "two of kind link have the id 'junction -> field'",
        ),
        (
            {"nodes": [{"id": "n", "site": "moon", "cores": 1}], "task_managers": []},
            "node 'n' is at site 'moon', which is not among the sites ['field'",
        ),
        (
            {"task_managers": [{"id": "t", "node": "moon", "slots": 1}]},
            "TaskManager 't' is on node 'moon', which is not listed",
        ),
        (
            {"links": [{"source": "field", "target": "moon"}]},
            "link 'field' -> 'moon': 'moon' is not among the sites",
        ),
        ({"links": [{"source": "hall", "target": "hall"}]}, "link 'hall' -> 'hall' leads nowhere"),
        ({"checkpoint_storage": "moon"}, "checkpoint_storage is at site 'moon'"),
        ({"cpu_target": 1.5}, "cpu_target"),
        ({"link_target": 0}, "link_target"),
        ({"nodes": [{"id": "n", "site": "hall", "cores": 0}]}, "nodes.0.cores"),
        ({"nodes": [{"id": "n", "site": "hall", "cores": float("inf")}]}, "nodes.0.cores"),
        ({"nodes": [{"id": "n", "site": "hall", "cores": 1, "slots": -1}]}, "slots"),
        (
            {"nodes": [{"id": "n", "site": "hall", "cores": 1, "host": "h"}]},
            "(id 'n'): it goes with slots",
        ),
        ({"nodes": [{"site": "hall", "cores": 1, "slots": 1}]}, "nodes.0.id: Field required"),
        ({"nodes": "pi"}, "nodes: Input should be a valid tuple"),
        ({"task_managers": "tm"}, "task_managers: Input should be a valid tuple"),
        ({"links": [{"source": "field", "target": "hall", "delay_ms": -1}]}, "links.0.delay_ms"),
        (
            {"links": [{"source": "field", "target": "hall", "bandwidth_bytes_per_s": 0}]},
            "links.0.bandwidth_bytes_per_s",
        ),
        ({"speling": 1}, "speling: there is no field of this name here"),
    ],
)
def test_broken_clusters(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        cluster(**changes)
    assert says in e.value.what
    assert e.value.cure


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("tm-a", ("tm-a",)),
        ("pi-1", ("pi-1",)),
        ("server", ("tm-a", "tm-b")),
        ("field", ("pi-1", "pi-2")),
        ("junction", ()),
    ],
)
def test_places(place: str, found: tuple[str, ...]) -> None:
    assert cluster().task_managers_at(place) == found


def test_places_that_are_not_there() -> None:
    with pytest.raises(InvalidInputError, match="no site, node or TaskManager 'moon'") as e:
        cluster().task_managers_at("moon")
    assert "'field'" in e.value.cure


def test_a_name_for_two_places() -> None:
    nodes = [{"id": "field", "site": "hall", "cores": 1, "slots": 1}]
    both = cluster(nodes=[*DATA["nodes"], *nodes])
    with pytest.raises(InvalidInputError, match="'field' names different places"):
        both.task_managers_at("field")


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("tm-a", "tm-a"),
        ("pi-1", "pi-1"),
        ("10.0.0.2", "pi-1"),
        ("10.0.0.2:46001", "pi-1"),
        ("10.0.0.2:46001-e75116", "pi-1"),
        ("10_0_0_2:46001_e75116", "pi-1"),
        ("pi-2:46001-e75116", "pi-2"),
        ("pi_2", "pi-2"),
        ("10.0.0.20", None),
        ("10.0.0.20:46001-e75116", None),
        ("0.0.0.2", None),
        ("moon", None),
        ("", None),
        (":", None),
    ],
)
def test_flinks_names_of_task_managers(location: str, found: str | None) -> None:
    assert cluster().resolve_task_manager(location) == found


def test_a_shared_host_is_no_answer() -> None:
    with pytest.raises(InvalidInputError, match=r"matches 2 TaskManagers: \['tm-a', 'tm-b'\]") as e:
        cluster().resolve_task_manager("big:4000-aa")
    assert "resource-id" in e.value.cure


def test_ids_that_differ_in_special_characters() -> None:
    tms = [{"id": i, "node": "server", "slots": 1} for i in ("t.1", "t-1")]
    alike = cluster(task_managers=tms)
    assert alike.resolve_task_manager("t.1") == "t.1"
    assert alike.resolve_task_manager("t-1") == "t-1"
    with pytest.raises(InvalidInputError, match="matches 2 TaskManagers"):
        alike.resolve_task_manager("t_1")


def test_ipv6_hosts() -> None:
    tms = [{"id": "six", "node": "server", "slots": 1, "host": "[fd00::2]"}]
    six = cluster(task_managers=tms)
    assert six.resolve_task_manager("[fd00::2]:4000-abc") == "six"
    assert six.resolve_task_manager("[fd00::3]:4000-abc") is None


def test_nodes_by_id() -> None:
    assert cluster().node("server").labels == {"gpu": "yes"}
