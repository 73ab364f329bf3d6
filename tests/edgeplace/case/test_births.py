"""`born_at: [depot-*]`: a place for each subtask of a source, as docs/job.md says."""

import pytest

from edgeplace.case.births import with_births
from edgeplace.case.files import case_of
from edgeplace.instances import path
from edgeplace.model import Cluster, InvalidInputError, JobGraph, parse

CLUSTER = parse(
    {
        "sites": [{"id": "hub"}, {"id": "depot-2"}, {"id": "depot-1"}],
        "nodes": [
            {"id": f"depot-{d}-pi-{i}", "site": f"depot-{d}", "cores": 1, "slots": 2}
            for d in (1, 2)
            for i in (1, 2)
        ],
    },
    Cluster,
    "cluster",
)


def job(parallelism, *born_at):
    source = {"id": "s", "name": "s", "parallelism": parallelism, "born_at": born_at}
    return parse({"name": "j", "operators": [source]}, JobGraph, "job")


def job_of(born_at):
    source = {"id": "s", "name": "s", "parallelism": 2, "born_at": born_at}
    return parse({"name": "j", "operators": [source]}, JobGraph, "job").operators[0]


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("depot-*", ("depot-2", "depot-1")),
        ("*-pi-1", ("depot-1-pi-1", "depot-2-pi-1")),
        ("depot-*-pi-*", ("depot-1-pi-1", "depot-1-pi-2", "depot-2-pi-1", "depot-2-pi-2")),
        ("h*", ("hub",)),
    ],
)
def test_a_pattern_is_a_place_for_each_subtask(pattern, places):
    found = with_births(job(len(places), pattern), CLUSTER)
    assert found.operators[0].born_at == places


def test_several_patterns_and_names_are_the_places_of_all():
    found = with_births(job(3, "hub", "depot-*"), CLUSTER)
    assert found.operators[0].born_at == ("hub", "depot-2", "depot-1")
    # A place that fits twice has one subtask.
    found = with_births(job(4, "depot-1-pi-*", "*-pi-1", "depot-2-pi-2"), CLUSTER)
    places = ("depot-1-pi-1", "depot-1-pi-2", "depot-2-pi-1", "depot-2-pi-2")
    assert found.operators[0].born_at == places


def test_one_place_needs_no_list():
    assert job_of(born_at="depot-*").born_at == ("depot-*",)
    assert with_births(
        JobGraph(name="j", operators=(job_of(born_at="depot-*"),)), CLUSTER
    ).operators[0].born_at == ("depot-2", "depot-1")


@pytest.mark.parametrize("places", [("depot-1",), ("depot-1", "hub", "depot-2"), ("anywhere",)])
def test_places_without_a_pattern_stay(places):
    given = job(3, *places)
    assert with_births(given, CLUSTER) is given


@pytest.mark.parametrize(
    ("parallelism", "born_at", "said"),
    [
        (3, ("depot-*",), "fits 2 sites, and the source has 3 subtasks"),
        (2, ("shop-*",), "fits no site, node or TaskManager"),
        (
            2,
            ("depot-*", "hub"),
            "'hub' fits 1 sites, 3 places in all, and the",
        ),
        (3, ("depot-*", "shop"), "'shop' fits no site, node or TaskManager"),
    ],
)
def test_a_pattern_that_does_not_fit_is_refused(parallelism, born_at, said):
    with pytest.raises(InvalidInputError, match=said):
        with_births(job(parallelism, *born_at), CLUSTER)


def test_the_forty_depots():
    """Every Pi has a camera, and every depot a forklift; the regions and the cloud have none."""
    files = [str(path(f"depots/{name}.yaml")) for name in ("parcels", "forklifts", "cluster")]
    case = case_of(files[:2], files[2])
    cameras, lifts = (job.operators[0].born_at for job in case.jobs)
    pis = {node.id for node in case.cluster.nodes if node.node_class.startswith("pi")}
    assert set(cameras) == pis
    assert set(lifts) == {node.site for node in case.cluster.nodes if node.id in pis}
    assert (len(cameras), len(lifts)) == (119, 40)
