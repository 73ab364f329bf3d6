"""Instances over networks from files."""

import pytest

from edgeplace.instances.latency_matrix import latency_matrix
from edgeplace.instances.topology import topology
from edgeplace.model import InvalidInputError, dump
from edgeplace.solver import solve

GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="Longitude" attr.type="double" for="node" id="x"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="y"/>
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="s"/>
  <graph edgedefault="undirected">
    <node id="Zurich"><data key="x">8.55</data><data key="y">47.37</data></node>
    <node id="Geneva"><data key="x">6.14</data><data key="y">46.20</data></node>
    <node id="Basel"><data key="x">7.59</data><data key="y">47.56</data></node>
    <node id="Bern"/>
    <edge source="Zurich" target="Geneva"><data key="s">1000000000.0</data></edge>
    <edge source="Zurich" target="Basel"/>
    <edge source="Zurich" target="Bern"/>
  </graph>
</graphml>
"""


@pytest.fixture
def swiss(tmp_path):
    path = tmp_path / "Swiss.graphml"
    path.write_text(GRAPHML)
    return path


def test_a_topology_gives_delays_bandwidths_and_a_plan(swiss):
    instance = topology(swiss, 2, 1)
    assert [s.id for s in instance.cluster.sites if s.tier == "cloud"] == ["Zurich"]
    links = {frozenset((k.source, k.target)): k for k in instance.cluster.links}
    geneva = links[frozenset(("Zurich", "Geneva"))]
    # 224 km as the crow flies, at 200 km a millisecond.
    assert geneva.delay_ms == pytest.approx(1.12, abs=0.02)
    assert geneva.bandwidth_bytes_per_s == 125_000_000
    assert links[frozenset(("Zurich", "Basel"))].bandwidth_bytes_per_s is None
    assert len([n for n in instance.cluster.nodes if n.node_class == "pi"]) == 4
    found = solve(instance.jobs, instance.cluster, instance.rules, objective=("wan",))
    assert found.status == "optimal"


def test_a_network_instance_is_the_same_again(swiss):
    assert dump(topology(swiss, 2, 3)) == dump(topology(swiss, 2, 3))
    assert dump(topology(swiss, 2, 3)) != dump(topology(swiss, 2, 4))


@pytest.mark.parametrize(
    ("text", "sites", "said"),
    [
        ("not xml", 1, "not GraphML"),
        (GRAPHML.replace('<edge source="Zurich" target="Bern"/>', ""), 1, "not all connected"),
        (GRAPHML, 4, "cannot have 4 edge sites"),
        (GRAPHML, 0, "cannot have 0 edge sites"),
    ],
)
def test_a_bad_topology_is_refused(text, sites, said, tmp_path):
    path = tmp_path / "bad.graphml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=said) as e:
        topology(path, sites, 1)
    assert "bad.graphml" in str(e.value)


MATRIX = "0,10,20\n12,0,40\n20,,0\n"


def test_a_matrix_gives_half_the_time_each_way(tmp_path):
    path = tmp_path / "rtt.csv"
    path.write_text(MATRIX)
    instance = latency_matrix(path, 2, 1)
    delays = {(k.source, k.target): k.delay_ms for k in instance.cluster.links}
    assert delays == {
        ("s0", "s1"): 5.0,
        ("s1", "s0"): 6.0,
        ("s0", "s2"): 10.0,
        ("s2", "s0"): 10.0,
        ("s1", "s2"): 20.0,
    }
    assert [s.id for s in instance.cluster.sites if s.tier == "cloud"] == ["s0"]
    found = solve(instance.jobs, instance.cluster, instance.rules, objective=("wan",))
    assert found.status == "optimal"


@pytest.mark.parametrize(
    ("text", "sites", "said"),
    [
        ("0,1\n1,0,3\n", 1, ":2: 3 cells in a matrix of 2 rows"),
        ("", 1, "no matrix"),
        ("a,b\nc,d\n", 1, "no matrix"),
        (MATRIX, 3, "cannot have 3 at the edge"),
        ("0,9,9\n9,0,\n,9,0\n", 2, "no time is given between"),
    ],
)
def test_a_bad_matrix_is_refused(text, sites, said, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=said) as e:
        latency_matrix(path, sites, 1)
    assert "bad.csv" in str(e.value)
