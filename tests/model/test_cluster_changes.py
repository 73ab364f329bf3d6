"""Clusters that differ from another in one thing, and in nothing else."""

import pytest

from edgeplace.model import Cluster, InvalidInputError, Link, Node, Site, TaskManager
from edgeplace.model.what_if.cluster_changes import (
    with_bandwidth,
    with_cores,
    with_node_like,
    with_slots,
    without_site,
)

CLUSTER = Cluster(
    sites=(Site(id="a"), Site(id="b"), Site(id="mid"), Site(id="cloud", tier="cloud")),
    nodes=(
        Node(id="pi-a", site="a", node_class="pi", cores=4, labels={"gpu": "no"}),
        Node(id="pi-b", site="b", node_class="pi", cores=2),
        Node(id="server", site="cloud", node_class="server", cores=16),
    ),
    task_managers=(
        TaskManager(id="pi-a", node="pi-a", slots=4, host="10.0.0.1", memory_bytes=1e9),
        TaskManager(id="pi-b", node="pi-b", slots=2),
        TaskManager(id="tm-1", node="server", slots=8),
        TaskManager(id="tm-2", node="server", slots=8),
    ),
    links=(
        Link(source="a", target="mid", bandwidth_bytes_per_s=1000, both_ways=True),
        Link(source="b", target="mid", bandwidth_bytes_per_s=2000, both_ways=True),
        Link(source="mid", target="cloud", both_ways=True),
    ),
)


def bandwidths(cluster):
    return {f"{a.source} -> {a.target}": a.bandwidth_bytes_per_s for a in cluster.directed_links()}


def test_slots_and_cores_grow_in_one_place():
    assert [t.slots for t in with_slots(CLUSTER, "pi-b", 3).task_managers] == [4, 5, 8, 8]
    assert [n.cores for n in with_cores(CLUSTER, "server", 1.5).nodes] == [4, 2, 17.5]


def test_one_direction_of_a_link_changes():
    changed = with_bandwidth(CLUSTER, "mid", "a", lambda now: now / 2)
    assert bandwidths(changed) == {**bandwidths(CLUSTER), "mid -> a": 500}


@pytest.mark.parametrize(
    ("ends", "what"),
    [(("a", "b"), "no link 'a' -> 'b'"), (("mid", "cloud"), "'mid' -> 'cloud' is not limited")],
)
def test_a_link_that_is_not_there_or_not_limited_is_told(ends, what):
    with pytest.raises(InvalidInputError) as e:
        with_bandwidth(CLUSTER, *ends, lambda now: now)
    assert what in e.value.what
    assert e.value.cure


def test_a_lost_site_has_names_and_no_slots():
    lost = without_site(CLUSTER, "a")
    assert [t.slots for t in lost.task_managers] == [0, 2, 8, 8]
    assert (lost.nodes, lost.sites, lost.links) == (CLUSTER.nodes, CLUSTER.sites, CLUSTER.links)


def test_nothing_passes_a_lost_junction():
    assert without_site(CLUSTER, "mid").links == ()


def test_the_site_of_the_checkpoints_cannot_be_lost():
    stored = CLUSTER.model_copy(update={"checkpoint_storage": "cloud"})
    with pytest.raises(InvalidInputError, match="checkpoint storage"):
        without_site(stored, "cloud")
    with pytest.raises(InvalidInputError, match="no site 'paris'"):
        without_site(CLUSTER, "paris")


def test_one_more_node_is_like_those_of_its_class_that_are_there():
    larger = with_node_like(CLUSTER, "pi", "b")
    node, tm = larger.nodes[-1], larger.task_managers[-1]
    assert (node.site, node.cores, node.node_class) == ("b", 2, "pi")
    assert (tm.node, tm.slots) == (node.id, 2)


def test_one_more_node_where_none_of_its_class_is_takes_after_the_first_elsewhere():
    larger = with_node_like(CLUSTER, "pi", "mid")
    node, tm = larger.nodes[-1], larger.task_managers[-1]
    assert (node.site, node.cores, node.labels) == ("mid", 4, {"gpu": "no"})
    assert (tm.slots, tm.memory_bytes, tm.host) == (4, 1e9, "")


def test_a_node_with_several_task_managers_is_taken_whole_and_names_stay_apart():
    larger = with_node_like(with_node_like(CLUSTER, "server", "cloud"), "server", "cloud")
    assert [t.slots for t in larger.task_managers[-4:]] == [8] * 4
    names = [t.id for t in larger.task_managers] + [n.id for n in larger.nodes[-2:]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("of", "what"), [(("gpu", "a"), "class 'gpu'"), (("pi", "x"), "site 'x'")])
def test_a_class_or_site_that_is_not_there_is_told(of, what):
    with pytest.raises(InvalidInputError, match=what):
        with_node_like(CLUSTER, *of)
