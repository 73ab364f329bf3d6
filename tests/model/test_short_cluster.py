"""Cluster files in short, against the long form as docs/cluster.md describes it."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.instances import path
from edgeplace.instances.instance import Instance
from edgeplace.model import Cluster, EdgeplaceError, InvalidInputError, dump, load, parse, read

REGIONS = ("north", "south", "east", "west", "mid")
PI = {"cores": 4, "slots": 4, "memory_bytes": 3e9}
SERVER = {"cores": 16, "memory_bytes": 32e9}


def depots_in_long_form():
    """Write the depots out, one entry for each site, node and link."""
    sites = [{"id": "cloud", "tier": "cloud"}] + [
        {"id": f"region-{r}", "tier": "regional"} for r in REGIONS
    ]
    nodes = [
        {"id": f"cloud-vm-{i}", "site": "cloud", "node_class": "vm", "slots": 24, **SERVER}
        for i in (1, 2, 3, 4)
    ]
    links = []
    for r in REGIONS:
        nodes.append(
            {"id": f"region-{r}-mini", "site": f"region-{r}", "node_class": "mini", "slots": 16}
            | SERVER
        )
        links.append(
            {
                "source": f"region-{r}",
                "target": "cloud",
                "bandwidth_bytes_per_s": 125_000_000,
                "delay_ms": 10,
                "price_per_byte": 0.02e-9,
                "both_ways": True,
            }
        )
    for r in REGIONS:
        for d in range(1, 9):
            depot = f"{r}-{d}"
            sites.append({"id": depot})
            slow = depot == "west-7"
            for k in (1, 2) if slow else (1, 2, 3):
                kind = "pi5" if d <= 2 else "pi4"
                nodes.append({"id": f"{depot}-pi-{k}", "site": depot, "node_class": kind, **PI})
            links.append(
                {
                    "source": depot,
                    "target": f"region-{r}",
                    "bandwidth_bytes_per_s": 250_000 if slow else 1_250_000,
                    "delay_ms": 40,
                    "price_per_byte": 4e-9,
                    "both_ways": True,
                }
            )
    return {
        "currency": "EUR",
        "sites": sites,
        "nodes": nodes,
        "links": links,
        "checkpoint_storage": "cloud",
    }


def in_order(cluster):
    """Return the cluster with its links sorted: an exception's place in the file is its own."""
    links = sorted(cluster.links, key=lambda link: (link.source, link.target))
    return cluster.model_copy(update={"links": tuple(links)})


def test_the_depots_in_short_are_the_depots_in_long_form():
    file = path("depots/cluster.yaml")
    long = parse(depots_in_long_form(), Cluster, "long form")
    short = read(file, Cluster)
    assert (short.rates_in, long.rates_in) == ("bit/s", "bytes/s"), "as they are written"
    long = long.model_copy(update={"rates_in": short.rates_in})
    assert in_order(short) == in_order(long)
    assert len(file.read_text().splitlines()) <= 40
    assert len(dump(long, yaml_style=True).splitlines()) > 1000


def test_a_short_file_always_means_the_same():
    file = path("depots/cluster.yaml")
    assert dump(read(file, Cluster)) == dump(read(file, Cluster))
    assert parse(load(file), Cluster, "content") == read(file, Cluster)


def test_the_long_form_that_is_written_is_read_again():
    cluster = read(path("depots/cluster.yaml"), Cluster)
    assert parse({**load(path("depots/cluster.yaml"))}, Cluster, "x") == cluster
    assert cluster.model_validate_json(dump(cluster)) == cluster


def short(**parts):
    return parse({"sites": [{"id": "a"}], **parts}, Cluster, "cluster.yaml")


@settings(deadline=None)
@given(st.integers(1, 120), st.integers(0, 120))
def test_a_group_is_numbered_with_as_many_digits_as_its_last_number(count, first):
    cluster = short(sites=[{"id": "depot-*", "count": count, "first": first}])
    last = first + count - 1
    expected = [f"depot-{str(n).rjust(len(str(last)), '0')}" for n in range(first, last + 1)]
    assert [site.id for site in cluster.sites] == expected


def test_groups_of_one_pattern_have_numbers_of_one_width():
    cluster = short(
        sites=[{"id": "d-*", "count": 2}, {"id": "d-*", "count": 8, "first": 3, "tier": "cloud"}]
    )
    assert [s.id for s in cluster.sites][:3] == ["d-01", "d-02", "d-03"]
    assert [s.tier for s in cluster.sites][:3] == ["edge", "edge", "cloud"]


def test_an_exception_goes_before_its_group_and_a_group_before_its_template():
    cluster = short(
        templates={
            "t": {"tier": "cloud", "nodes": [{"id": "n", "cores": 1}]},
            "u": {"nodes": [{"id": "n", "cores": 2}]},
        },
        sites=[
            {
                "id": "s*",
                "count": 4,
                "template": "t",
                "exceptions": [
                    {"id": "s2", "template": "u"},
                    {"id": "s3", "nodes": [{"id": "n", "cores": 3}]},
                    {"id": "s4", "tier": "edge"},
                ],
            },
            {"id": "one", "template": "t", "nodes": []},
        ],
    )
    assert [n.cores for n in cluster.nodes] == [1, 2, 3, 1]
    assert [s.tier for s in cluster.sites] == ["cloud", "cloud", "cloud", "edge", "cloud"]


def test_a_node_has_what_its_class_has_unless_it_says_otherwise():
    cluster = short(
        node_classes=[{"id": "pi", "cores": 4, "slots": 2, "speed": 0.5}, {"id": "x", "cores": 8}],
        nodes=[
            {"id": "p", "site": "a", "node_class": "pi"},
            {"id": "q", "site": "a", "node_class": "pi", "slots": 3, "host": "10.0.0.1"},
            {"id": "r-*", "count": 2, "site": "a", "node_class": "x", "labels": {"k": "v"}},
            {"id": "s", "site": "a", "node_class": "pi"},
        ],
        task_managers=[{"id": "t", "node": "s", "slots": 9}],
    )
    assert {t.id: t.slots for t in cluster.task_managers} == {"t": 9, "p": 2, "q": 3}
    assert [(n.id, n.cores) for n in cluster.nodes][2:4] == [("r-1", 8), ("r-2", 8)]
    assert cluster.nodes[3].labels == {"k": "v"}
    assert [(c.id, c.speed) for c in cluster.node_classes] == [("pi", 0.5)]


def test_a_node_of_a_pattern_of_sites_is_at_each_of_them():
    cluster = short(
        sites=[{"id": "d*", "count": 2}, {"id": "hub"}],
        nodes=[{"id": "n", "site": "d*", "cores": 1}, {"id": "m", "site": "hub", "cores": 1}],
    )
    assert [(n.id, n.site) for n in cluster.nodes] == [("d1-n", "d1"), ("d2-n", "d2"), ("m", "hub")]


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_link_that_names_its_ends_goes_before_a_pattern(both_ways):
    cluster = short(
        sites=[{"id": "d*", "count": 3}, {"id": "hub"}],
        links=[
            {"source": "d*", "target": "hub", "delay_ms": 1, "both_ways": True},
            {"source": "d2", "target": "hub", "delay_ms": 2, "both_ways": both_ways},
        ],
    )
    delays = {(a.source, a.target): a.delay_ms for a in cluster.directed_links()}
    assert delays == {
        (f"d{i}", "hub") if out else ("hub", f"d{i}"): 2 if i == 2 and (out or both_ways) else 1
        for i in (1, 2, 3)
        for out in (True, False)
    }


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_pattern_at_both_ends_links_each_site_with_each_other(both_ways):
    cluster = short(
        sites=[{"id": "d*", "count": 3}],
        links=[{"source": "d*", "target": "d*", "both_ways": both_ways}],
    )
    pairs = sorted((a.source, a.target) for a in cluster.directed_links())
    assert pairs == [(f"d{i}", f"d{j}") for i in (1, 2, 3) for j in (1, 2, 3) if i != j]


def test_the_example_of_the_page_is_read():
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    (example,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    cluster = parse(yaml.safe_load(example), Cluster, "docs/cluster.md")
    new = sorted({n.site for n in cluster.nodes if n.node_class == "pi5"})
    assert new == ["depot-17", *(f"depot-3{i}" for i in range(10))]
    assert {a.source: a.delay_ms for a in cluster.links} == {
        f"depot-{i:02}": 90 if i == 7 else 40 for i in range(1, 41)
    }


GOOD = """\
node_classes:
  - {id: pi, cores: 4, slots: 4}
templates:
  depot:
    nodes:
      - {id: pi-*, count: 3, node_class: pi}
sites:
  - id: depot-*
    count: 40
    template: depot
    exceptions:
      - {id: depot-17, tier: cloud}
  - id: hub
links:
  - {source: depot-*, target: hub}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "said", "cure"),
    [
        ("template: depot", "template: depo", 10, "no template 'depo'", "did you mean 'depot'?"),
        ("count: 40", "count: none", 9, "valid integer", "write a whole number"),
        ("count: 40", "cuont: 40", 9, "no field of this name", "did you mean 'count'?"),
        ("id: depot-*\n    count: 40", "id: depot-*", 8, "no count", "{id: depot-*, count: 40}"),
        ("id: depot-*\n", "id: depot\n", 8, "'depot' with count 40", "{id: depot-*, count: 40}"),
        ("id: depot-17", "id: depot-71", 12, "no site of this group 'depot-71'", "did you mean"),
        ("source: depot-*", "source: dept-*", 15, "no site 'dept-*'", "did you mean"),
        ("target: hub", "target: hup", 15, "no site 'hup'", "did you mean 'hub'?"),
        ("id: hub", "id: depot-07", 13, "two of kind site with the id 'depot-07'", "unique"),
        ("node_class: pi}", "node_class: pie}", 6, "has no cores", "add 'cores'"),
        ("cores: 4", "cores: 4 GB", 2, "valid number", "write a number"),
        ("slots: 4}", "memory_bytes: 4 gb}", 2, "'gb' is no unit", 'did you mean "4 GB"?'),
        ("slots: 4}", "memory_bytes: 4 GB}", 6, "memory_bytes but no slots", "slots"),
        ("count: 40", "count: 4000000", 9, "less than or equal", "in that range"),
    ],
)
def test_an_error_names_the_line_of_the_short_file(tmp_path, old, new, line, said, cure):
    file = tmp_path / "cluster.yaml"
    assert GOOD.count(old) == 1
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(InvalidInputError) as error:
        read(file, Cluster)
    assert f"line {line})" in error.value.what or f"line {line}:" in error.value.what
    assert said in error.value.what
    assert cure in error.value.cure


def test_a_link_of_a_pattern_needs_its_price_where_there_is_a_currency():
    with pytest.raises(InvalidInputError, match="'d1' -> 'd2' has no price_per_byte in EUR"):
        short(
            currency="EUR",
            sites=[{"id": "d*", "count": 2}],
            links=[{"source": "d*", "target": "d*"}],
        )


@pytest.mark.parametrize(
    ("currency", "price", "said", "cure"),
    [
        (
            None,
            "4 EUR/GB",
            "a price in EUR, and the cluster's currency is not given",
            "currency: E",
        ),
        ("EUR", "4 USD/GB", "a price in USD, and the cluster's currency is EUR", "prices in EUR"),
        ("USD", "4 €/GB", "a price in EUR, and the cluster's currency is USD", "not converted"),
    ],
)
@pytest.mark.parametrize(
    "sites", ["[{id: a}, {id: b}]", "[{id: a}, {id: b}, {id: 'c*', count: 1}]"]
)
def test_a_price_in_another_currency_is_not_taken(tmp_path, sites, currency, price, said, cure):
    file = tmp_path / "cluster.yaml"
    top = f"currency: {currency}\n" if currency else "\n"
    file.write_text(
        f"{top}sites: {sites}\nnodes: []\n"
        f"links: [{{source: a, target: b, price_per_byte: {price}}}]\n"
    )
    with pytest.raises(InvalidInputError) as error:
        read(file, Cluster)
    assert said in error.value.what
    assert "line 4" in error.value.what
    assert cure in error.value.cure


def test_a_price_in_another_currency_is_not_taken_in_an_instance_and_in_python_either():
    cluster = {
        "sites": [{"id": "a"}, {"id": "b"}],
        "links": [{"source": "a", "target": "b", "price_per_byte": "4 USD/GB"}],
        "currency": "EUR",
    }
    job = {"name": "j", "operators": [{"id": "o", "name": "o", "parallelism": 1}]}
    for kind, data in ((Cluster, cluster), (Instance, {"jobs": [job], "cluster": cluster})):
        with pytest.raises(EdgeplaceError, match="a price in USD, and the cluster's"):
            kind.model_validate(data)
        with pytest.raises(InvalidInputError, match="a price in USD, and the cluster's") as error:
            parse(data, kind, "the file")
        assert "links.0.price_per_byte" in error.value.what


@pytest.mark.slow
def test_groups_that_multiply_are_refused_early():
    with pytest.raises(InvalidInputError, match="more than 100,000 entries"):
        short(sites=[{"id": "a-*", "count": 1000}], links=[{"source": "a-*", "target": "a-*"}])


def test_prices_of_cores_are_the_class_s_unless_the_node_has_its_own():
    found = short(
        currency="EUR",
        node_classes=[{"id": "vm", "cores": 8, "slots": 8, "price_per_core_hour": "0.04 EUR/h"}],
        sites=[
            {
                "id": "dc",
                "nodes": [
                    {"id": "vm-*", "count": 2, "node_class": "vm"},
                    {"id": "old", "node_class": "vm", "price_per_core_hour": "0.1 EUR"},
                    {"id": "own", "cores": 2, "slots": 2},
                ],
            }
        ],
    )
    assert {n.id: n.price_per_core_hour for n in found.nodes} == {
        "dc-vm-1": 0.04,
        "dc-vm-2": 0.04,
        "dc-old": 0.1,
        "dc-own": 0.0,
    }


def test_a_core_s_price_in_another_currency_is_not_taken():
    with pytest.raises(InvalidInputError) as error:
        short(
            currency="EUR",
            templates={"t": {"nodes": [{"id": "n", "cores": 2, "price_per_core_hour": "1 USD/h"}]}},
            sites=[{"id": "d-*", "count": 2, "template": "t"}],
        )
    assert "a price in USD, and the cluster's currency is EUR" in error.value.what
    assert "templates.t.nodes.0.price_per_core_hour" in error.value.what
