"""The column `what changed` of a sweep: counted by class of machine, by hand."""

import pytest

from edgeplace.model import Case, Plan, write
from edgeplace.views.step_changes import step_change
from tests.support.seeds import filter_cluster, filter_job

PIS = tuple(f"pi-{i}" for i in range(4))
CASE = Case(jobs=(filter_job(50_000.0),), cluster=filter_cluster())


def plan(*filters, sink="server"):
    return CASE, Plan(jobs={"filter": {"source": PIS, "filter": filters, "sink": (sink,)}})


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (plan(*PIS), "nothing"),
        (plan("pi-1", "pi-0", "pi-2", "pi-3"), "only among alike machines"),
        (plan("server", "server", *PIS[2:]), "filter: 2 pi -> server"),
        # That another subtask runs where one left is no further change.
        (plan("server", "pi-0", "pi-1", "pi-3"), "filter: 1 pi -> server"),
        (plan(*["server"] * 4, sink="pi-0"), "filter: 4 pi -> server, sink: 1 server -> pi"),
    ],
)
def test_subtasks_are_counted_by_class(after, said):
    assert step_change(plan(*PIS), after) == said


def test_operators_that_change_alike_are_named_together():
    cluster = filter_cluster()
    nodes = [n.model_copy(update={"node_class": f"c{i}"}) for i, n in enumerate(cluster.nodes)]
    case = Case(jobs=CASE.jobs, cluster=cluster.model_copy(update={"nodes": tuple(nodes)}))
    before, after = plan(*["pi-0"] * 4, sink="pi-0")[1], plan("pi-1", *PIS[1:], sink="server")[1]
    said = step_change((case, before), (case, after))
    assert said == "filter: -4 c0 +2 c1 +1 c2 +1 c3, sink: 1 c0 -> c4"
    assert step_change((case, before), (case, plan("pi-1", *["pi-0"] * 3, sink="pi-1")[1])) == (
        "filter, sink: 1 c0 -> c1"
    )


def test_a_sweep_says_at_which_value_what_moves(edgeplace, tmp_path):
    """A Pi filters 700 records/s: at 600 all four Pis do, at 1,200 the server does."""
    write(filter_job(700.0), tmp_path / "job.yaml")
    write(filter_cluster(1e7), tmp_path / "cluster.yaml")
    files = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    rows = edgeplace("solve", *files, "--set", "rate=x1..x3").out.splitlines()
    assert rows[0].endswith("what changed")
    ends = ["-", "filter: 4 pi -> server", "nothing"]
    assert [row.split("  ")[-1].strip() for row in rows[1:4]] == ends
