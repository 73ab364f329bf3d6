"""A cluster as a table: the same cluster as the YAML that it stands for (docs/cluster.md)."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.instances import path
from edgeplace.model import Cluster, InvalidInputError, parse, read
from edgeplace.model.inventory.table import cluster_of_table

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def of(text):
    return parse(cluster_of_table(text, "sites.csv"), Cluster, "sites.csv")


def test_the_table_of_the_page(tmp_path):
    (text,) = re.findall(r"^```csv\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "sites.csv").write_text(text)
    cluster = read(tmp_path / "sites.csv", Cluster)
    assert [site.id for site in cluster.sites] == ["cloud", "region-north", "depot-01", "depot-02"]
    assert [site.tier for site in cluster.sites] == ["cloud", "regional", "edge", "edge"]
    assert cluster.task_managers_at("depot-01") == tuple(f"depot-01-pi4-{i}" for i in (1, 2, 3))
    assert cluster.currency == "EUR"
    pi = next(tm for tm in cluster.task_managers if tm.id == "depot-02-pi5-1")
    assert (pi.slots, pi.memory_bytes) == (4, 3e9)
    links = {(a.source, a.target): a for a in cluster.directed_links()}
    assert len(links) == 6
    for ends in (("depot-01", "region-north"), ("region-north", "depot-01")):
        link = links[ends]
        assert (link.bandwidth_bytes_per_s, link.delay_ms) == (1.25e6, 40)
        assert link.price_per_byte == pytest.approx(4e-9)


def test_the_depots_as_a_table_are_the_depots():
    table, short = (read(path(f"depots/{name}"), Cluster) for name in ("sites.csv", "cluster.yaml"))
    assert all(s.lat is not None for s in table.sites)
    sites = {s.model_copy(update={"lat": None, "lon": None}) for s in table.sites}
    assert sites == set(short.sites)
    assert set(table.links) == set(short.links)
    assert table.nodes == short.nodes
    assert table.task_managers == short.task_managers
    assert table.checkpoint_storage == short.checkpoint_storage == "cloud"


@pytest.mark.parametrize(
    ("lat", "lon", "said"),
    [
        ("48.85", "", "lat and lon belong together"),
        ("91", "2", "lat: Input should be less than or equal to 90"),
        ("48 N", "2", "lat: Input should be a valid number"),
    ],
)
def test_coordinates_are_degrees_and_both(lat, lon, said):
    # The same place, however it is written.
    rows = "site,lat,lon\ncloud,-48.85,-2.35\ncloud,-48.850,-2.350\n"
    assert of(rows).sites[0].model_dump(include={"lat", "lon"}) == {"lat": -48.85, "lon": -2.35}
    with pytest.raises(InvalidInputError, match=f"sites.csv:4: {said}"):
        of(f"{rows}paris,{lat},{lon}\n")
    other = {"id": "d-2", "lat": 3, "lon": 4}
    group = {"id": "d-*", "count": 2, "lat": 1, "lon": 2, "exceptions": [other]}
    short = parse({"sites": [group]}, Cluster, "short")
    assert [(s.id, s.lat, s.lon) for s in short.sites] == [("d-1", 1, 2), ("d-2", 3, 4)]


FIELDS = ("site", "tier", "node", "count", "node_class", "cores", "slots", "to", "delay_ms")


@settings(deadline=None)
@given(
    order=st.permutations(FIELDS),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_a_table_is_the_cluster_of_its_rows(order, delimiter, end, counts):
    rows = [{"site": "hub", "tier": "cloud"}]
    rows += [
        {
            "site": f"s{i}",
            "node": "pi",
            "count": str(n),
            "node_class": "p",
            "cores": "4",
            "slots": str(n),
            "to": "hub",
            "delay_ms": f"{i + 1} ms",
        }
        for i, n in enumerate(counts)
    ]
    lines = [delimiter.join(order)]
    lines += [delimiter.join(row.get(name, "") for name in order) for row in rows]
    long_form = {
        "sites": [{"id": "hub", "tier": "cloud"}, *({"id": f"s{i}"} for i in range(len(counts)))],
        "nodes": [
            {"id": f"s{i}-pi-{k}", "site": f"s{i}", "node_class": "p", "cores": 4, "slots": n}
            for i, n in enumerate(counts)
            for k in range(1, n + 1)
        ],
        "links": [
            {"source": f"s{i}", "target": "hub", "delay_ms": i + 1, "both_ways": True}
            for i in range(len(counts))
        ],
    }
    made, stated = of(end.join(lines) + end), parse(long_form, Cluster, "long form")
    assert (made.sites, made.nodes) == (stated.sites, stated.nodes)
    assert made.task_managers == stated.task_managers
    assert list(made.directed_links()) == list(stated.directed_links())


def test_rows_of_one_site():
    cluster = of(
        "site,node,cores,slots,host,to,delay_ms\n"
        "a,pi,4,4,10.0.0.1,b,5\n"
        "a,old-pi,2,1,,,\n"
        "b,,,,,,\n"
        "c,,,,,a,1\n"
        "c,,,,,b,2\n"
    )
    assert [node.id for node in cluster.nodes] == ["a-pi", "a-old-pi"]
    assert cluster.task_managers[0].host == "10.0.0.1"
    assert len(cluster.links) == 3


@pytest.mark.parametrize(
    ("text", "at", "said", "cure"),
    [
        ("place\na\n", 1, "no column of the name 'place'", "the columns are site"),
        ("site,bandwidth\na,1\n", 1, "'bandwidth'", "did you mean 'bandwidth_bytes_per_s'?"),
        ("tier\nedge\n", 1, "no column 'site'", "column names"),
        ("site,site\na,b\n", 1, "twice", "leave one out"),
        ("site,cores,slots\na,4,4\nb,x,4\n", 3, "cores", "write a number"),
        ("site,cores,slots\na,4,4\nb,4,1.5\n", 3, "slots", "write a whole number"),
        ("site,delay_ms,to\na,4 Mbit,b\nb,,\n", 2, "'Mbit'", '"40 ms"'),
        ("site,cores,slots\na,4,\n", 2, "have no slots", "fill the column 'slots'"),
        ("site,node_class\na,pi\n", 2, "have no cores", "fill the column 'cores'"),
        ("site,to\na,norht\nnorth,\n", 2, "no site 'norht'", "did you mean 'north'?"),
        ("site,to\na,a\n", 2, "leads nowhere", "another site"),
        ("site,delay_ms\na,4\n", 2, "no site at its other end", "fill the column 'to'"),
        ("site,to,delay_ms\na,b,1\nb,a,2\n", 3, "something else of the link", "once"),
        ("site,tier\na,edge\na,cloud\n", 3, "another tier", "one tier"),
        ("site,lat,lon\na,1,2\na,1,2.01\n", 3, "another lon", "one lon"),
        ("site,tier\na,clod\n", 2, "tier", "did you mean 'cloud'?"),
        ("site,cores,slots\na,4,4\na,4,4\n", 3, "machines 'node' above", "'node'"),
        ("site,tier\na,edge,x\n", 2, "3 cells", "quotes"),
        ("site,tier\n,edge\n", 2, "site", "add 'site'"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(text, at, said, cure):
    with pytest.raises(InvalidInputError) as e:
        of(text)
    assert e.value.what.startswith(f"sites.csv:{at}: ")
    assert said in e.value.what
    assert cure in e.value.cure
    assert {mistake.line for mistake in e.value.mistakes} == {at}


@pytest.mark.parametrize("text", ["site,tier\n", "site\n\n\n"])
def test_a_table_without_rows(text):
    with pytest.raises(InvalidInputError, match="no rows"):
        of(text)


def test_a_table_says_where_checkpoints_go():
    rows = "site,cores,slots,checkpoint_storage,to\n a,4,4,,b\n b,8,8,yes,\n"
    assert cluster_of_table(rows, "t.csv")["checkpoint_storage"] == "b"
    with pytest.raises(InvalidInputError, match=r"t.csv:.*checkpoint_storage is at a, b"):
        cluster_of_table(rows.replace("4,4,,", "4,4,yes,"), "t.csv")
