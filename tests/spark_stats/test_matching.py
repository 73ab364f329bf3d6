"""Operators of a log found in a job whose names are others, by their places in the graph."""

import pytest

from edgeplace.model import InvalidInputError, JobGraph, Operator, ShipStrategy, Stream
from edgeplace.spark_stats.job_facts import LogFacts, LoggedEdge
from edgeplace.spark_stats.matching import operator_ids, other_names

# Two sources, joined; one branch filters first.
NAMES = ("clicks", "users", "filter", "join", "sink")
EDGES = (
    ("clicks", "filter", "FORWARD"),
    ("filter", "join", "HASH"),
    ("users", "join", "HASH"),
    ("join", "sink", "REBALANCE"),
)


def job(names=NAMES, edges=EDGES, called=None):
    called = called or {}
    return JobGraph(
        name="new",
        operators=tuple(
            Operator(id=f"id-{n}", name=called.get(n, n), parallelism=1) for n in names
        ),
        streams=tuple(
            Stream(source=f"id-{a}", target=f"id-{b}", ship_strategy=ShipStrategy(s))
            for a, b, s in edges
        ),
    )


def facts(names=NAMES, edges=EDGES, called=None, seed=0, of="new"):
    """The log of a job, in which vertices have ids of their own and come in any order."""
    called = called or {}
    order = (*names[seed:], *names[:seed])
    return LogFacts(
        job_name=of,
        names={f"v-{n}": called.get(n, n) for n in order},
        parallelism=dict.fromkeys((f"v-{n}" for n in order), 4),
        edges=tuple(LoggedEdge(f"v-{a}", f"v-{b}", s) for a, b, s in edges),
    )


@pytest.mark.parametrize("known", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_all_are_found_by_their_places_beside_one_that_is_known_by_name(known, seed):
    renamed = {n: f"{n} v2" for n in NAMES if n != known}
    log, asked = facts(called=renamed, seed=seed), job()
    found = operator_ids(log, asked)
    assert found == {f"v-{n}": f"id-{n}" for n in NAMES}
    assert len(other_names(log, found, asked)) == len(NAMES) - 1


def test_names_that_several_have_are_told_apart_by_place():
    called = {"clicks": "Source: Kafka", "users": "Source: Kafka"}
    assert operator_ids(facts(called=called), job(called=called)) == {
        f"v-{n}": f"id-{n}" for n in NAMES
    }


@pytest.mark.parametrize(
    ("names", "edges", "called"),
    [
        (NAMES, EDGES, dict.fromkeys(NAMES, "other")),
        # One operator more, another ship strategy: other graphs.
        (NAMES[:4], EDGES[:3], {"filter": "keeps"}),
        (NAMES, (("clicks", "filter", "HASH"), *EDGES[1:]), {"filter": "keeps"}),
    ],
)
def test_another_job_is_refused(names, edges, called):
    with pytest.raises(InvalidInputError, match="does not belong to job 'new'"):
        operator_ids(facts(names, edges, called), job())


CHAIN = ("source", "count", "sink")
CHAINED = (("source", "count", "HASH"), ("count", "sink", "FORWARD"))


@pytest.mark.parametrize(
    ("names", "edges", "renamed"),
    [(CHAIN, CHAINED, ("count",)), (NAMES, EDGES, ("clicks", "filter", "users"))],
)
def test_few_names_are_not_enough_for_a_job_of_another_name(names, edges, renamed):
    asked, called = job(names, edges), {n: f"{n} v2" for n in renamed}
    assert len(operator_ids(facts(names, edges, called), asked)) == len(names)
    with pytest.raises(InvalidInputError, match="named 'old': if it is the same"):
        operator_ids(facts(names, edges, called, of="old"), asked)


def test_half_of_the_names_are_enough_for_a_job_of_another_name():
    log = facts(called={"filter": "keeps", "sink": "writes"}, of="old")
    assert operator_ids(log, job()) == {f"v-{n}": f"id-{n}" for n in NAMES}


def test_a_name_that_several_have_in_the_log_is_of_none():
    names = ("source", "map", "late", "sink")
    edges = (("source", "map", "HASH"), ("map", "late", "FORWARD"), ("late", "sink", "HASH"))
    log = facts(names, edges, {"late": "map"})
    assert operator_ids(log, job(names, edges)) == {f"v-{n}": f"id-{n}" for n in names}
    # Places that are alike do not tell which of both is which.
    edges = tuple(e for n in ("map", "late") for e in (("source", n, "HASH"), (n, "sink", "HASH")))
    with pytest.raises(InvalidInputError, match="places in its graph do not tell which"):
        operator_ids(facts(names, edges, {"late": "map"}), job(names, edges))


def test_places_that_are_alike_are_refused():
    edges = tuple((a, "sink", "HASH") for a in ("left", "right"))
    names = ("left", "right", "sink")
    log = facts(names, edges, {"left": "a", "right": "b"})
    with pytest.raises(InvalidInputError, match="places in its graph do not tell which"):
        operator_ids(log, job(names, edges))
    # One of both that keeps its name tells the other.
    assert (
        operator_ids(facts(names, edges, {"left": "a"}), job(names, edges))["v-left"] == "id-left"
    )
