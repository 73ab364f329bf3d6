"""The job and the sites as a picture."""

from io import StringIO
from itertools import pairwise

import pytest

from edgeplace.cli.console import Console
from edgeplace.model import Cluster, JobGraph, Node, Operator, RateUnit, ShipStrategy, Site, Stream
from edgeplace.solver import solve
from edgeplace.views.picture import show_job, show_sites


def graph(*streams):
    """Return a job of streams such as `a-b`."""
    pairs = [tuple(s.split("-")) for s in streams]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return JobGraph(
        name="picture",
        operators=tuple(Operator(id=f"id-{n}", name=n, parallelism=2) for n in names),
        streams=tuple(
            Stream(source=f"id-{a}", target=f"id-{b}", ship_strategy=ShipStrategy.HASH)
            for a, b in pairs
        ),
    )


def drawn(job):
    """Return the streams in the picture, in order of lines."""
    out = StringIO()
    show_job(Console(out, StringIO()), job)
    found = []
    for line in out.getvalue().splitlines():
        ends = [end.removesuffix(" x2") for end in line.split(" --HASH-> ")]
        found += [f"{a}-{b}" for a, b in pairwise(ends)]
    return found


@pytest.mark.parametrize(
    "streams",
    [
        ("a-b", "b-c"),
        ("a-b", "a-c", "b-d", "c-d"),
        ("a-b", "a-c", "b-d", "c-d", "d-e", "d-f", "e-g", "f-g"),
        ("s1-join", "s2-join", "s3-join", "join-sink"),
        ("s1-x", "s2-x", "x-y", "x-z", "x-w"),
        ("a-b", "a-b"),
        ("a-b", "c-d"),
    ],
)
def test_every_stream_is_drawn_once(streams):
    assert sorted(drawn(graph(*streams))) == sorted(streams)


def test_a_diamond_is_drawn_along_its_paths():
    assert drawn(graph("a-b", "a-c", "b-d", "c-d")) == ["a-b", "b-d", "a-c", "c-d"]


def test_an_operator_alone_is_drawn():
    out = StringIO()
    alone = JobGraph(name="j", operators=(Operator(id="a", name="a", parallelism=3),))
    show_job(Console(out, StringIO()), alone)
    assert out.getvalue() == "a x3\n"


def sites(cluster, jobs=(), plan=None, found=None):
    out = StringIO()
    show_sites(Console(out, StringIO()), jobs, cluster, plan, found)
    return out.getvalue()


@pytest.mark.parametrize(("nodes", "more"), [(12, ""), (13, "and 1 more nodes"), (500, "and 488")])
def test_a_site_of_many_nodes_is_cut_short_with_a_count(nodes, more):
    cluster = Cluster(
        sites=(Site(id="field"),),
        nodes=tuple(Node(id=f"pi-{i:03}", site="field", cores=4) for i in range(nodes)),
    )
    picture = sites(cluster)
    assert picture.count("pi-") == min(nodes, 12)
    assert ("more nodes" in picture) == bool(more)
    assert more in picture


def test_a_plan_is_drawn_with_slots_cores_and_links(filter_model):
    job, cluster = filter_model
    result = solve(job, cluster)
    picture = sites(cluster, [job], result.plan, result.evaluation)
    assert picture.count("source, filter") == 4
    assert "1/16 slots  sink" in picture
    assert "cpu [..........]" in picture
    assert (
        "pi-0 -> cloud: 42 kB/s [########..] 84 % of what plans may use   (500 kbit/s, 20 ms)"
        in picture
    )


def test_an_overloaded_link_is_a_full_bar(filter_model):
    job, cluster = filter_model
    result = solve(job.with_source_rate("source", 200_000), cluster, objective=("throughput",))
    picture = sites(cluster, [job], result.plan, result.evaluation)
    assert "[##########] 7,000 % of what plans may use" in picture


def test_a_link_without_a_limit_is_drawn_without_a_bar(filter_model):
    job, cluster = filter_model
    free = tuple(link.model_copy(update={"bandwidth_bytes_per_s": None}) for link in cluster.links)
    cluster = cluster.model_copy(update={"links": free})
    result = solve(job, cluster)
    picture = sites(cluster, [job], result.plan, result.evaluation)
    assert "pi-0 -> cloud: 42 kB/s\n" in picture
    cluster = cluster.model_copy(update={"rates_in": RateUnit.BITS})
    picture = sites(cluster, [job], result.plan, result.evaluation)
    assert "pi-0 -> cloud: 336 kbit/s\n" in picture


def test_many_sites_are_drawn_in_rows_of_200_columns():
    cluster = Cluster(sites=tuple(Site(id=f"site-{i:02}") for i in range(20)))
    picture = sites(cluster)
    assert max(map(len, picture.splitlines())) <= 200
    assert picture.count("site-") == 20
