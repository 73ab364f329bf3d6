import pytest

from edgeplace.adapters.flink.apply.drained_node import node_of
from edgeplace.adapters.flink.apply.moves import free_slots_after, moves, slots_needed
from edgeplace.adapters.flink.apply.proposal import JobNow
from edgeplace.adapters.flink.apply.worst_fit import worst_fit
from edgeplace.adapters.flink.rest.live import LiveTaskManager, RunningJob
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Operator


def now_of(groups, places):
    """A job of operators a, b, ... in slot sharing groups, at these places."""
    graph = JobGraph(
        name="job",
        operators=tuple(
            Operator(id=op, name=op, parallelism=len(tms), slot_sharing_group=group)
            for (op, tms), group in zip(places.items(), groups, strict=True)
        ),
    )
    return JobNow(RunningJob("j", "job", "RUNNING"), graph, places, (), None, None)


def test_subtasks_of_one_group_share_slots():
    now = now_of("ggh", {"a": ("x", "x", "y"), "b": ("x", "y"), "c": ("x",)})
    assert slots_needed(now.graph, now.places) == {"x": 3, "y": 1}


def test_moves_are_by_subtask():
    now = now_of("g", {"a": ("x", "y")})
    (move,) = moves(now.graph, now.places, {"a": ("x", "z")})
    assert (move.operator, move.subtask, move.source, move.target) == ("a", 1, "y", "z")


def test_slots_that_a_job_leaves_count_as_held():
    now = now_of("g", {"a": ("x", "y")})
    assert free_slots_after({"x": 1, "y": 0, "z": 2}, now.graph, now.places, {"a": ("z", "z")}) == {
        "x": 1,
        "y": 0,
        "z": 0,
    }


@pytest.mark.parametrize(
    ("groups", "places", "free", "expected"),
    [
        # The most free slots first.
        ("g", {"a": ("x",)}, {"y": 1, "z": 2}, {"a": ("z",)}),
        # What shares a slot stays together.
        ("gg", {"a": ("x", "x"), "b": ("x", "x")}, {"y": 1, "z": 1}, {"a": "yz", "b": "yz"}),
        # Groups do not share slots.
        ("gh", {"a": ("x",), "b": ("x",)}, {"y": 1, "z": 1}, {"a": "y", "b": "z"}),
        # A slot that the job has already costs nothing.
        ("gg", {"a": ("x",), "b": ("y",)}, {"y": 0}, {"a": "y", "b": "y"}),
        # What runs elsewhere stays there.
        ("g", {"a": ("x", "y")}, {"y": 0, "z": 1}, {"a": "zy"}),
    ],
)
def test_where_most_slots_are_free(groups, places, free, expected):
    found, problems = worst_fit([now_of(groups, places)], {"x"}, {"x": 9, **free})
    assert not problems
    assert found == [{op: tuple(tms) for op, tms in expected.items()}]


def test_no_room_is_a_problem_of_the_job():
    jobs = [now_of("g", {"a": ("x", "x")}), now_of("g", {"a": ("x",)})]
    _, problems = worst_fit(jobs, {"x"}, {"x": 0, "y": 1})
    assert [p.what.split(":")[0] for p in problems] == [
        "no room elsewhere for 1 of the slots of 'job' there",
        "no room elsewhere for 1 of the slots of 'job' there",
    ]


REGISTERED = (
    LiveTaskManager("pi-1", "10.0.0.1", 2, 2),
    LiveTaskManager("a", "10.0.0.9", 2, 2),
    LiveTaskManager("b", "10.0.0.9", 2, 2),
)
USER = Cluster.model_validate(
    {
        "sites": [{"id": "lyon"}],
        "nodes": [
            {"id": "big", "site": "lyon", "cores": 1},
            {"id": "small", "site": "lyon", "cores": 1},
        ],
        "task_managers": [
            {"id": "a", "node": "big", "slots": 2},
            {"id": "b", "node": "big", "slots": 2},
            {"id": "mine", "node": "small", "slots": 2, "host": "10.0.0.1"},
        ],
    }
)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("pi-1", {"pi-1"}),
        ("10.0.0.9", {"a", "b"}),
        ("big", {"a", "b"}),
        ("mine", {"pi-1"}),
        ("lyon", {"pi-1", "a", "b"}),
    ],
)
def test_what_a_node_may_be_called(node, expected):
    assert node_of(node, REGISTERED, USER).registered == expected


@pytest.mark.parametrize(("user", "said"), [(None, "give --cluster"), (USER, "its sites are")])
def test_a_node_that_is_unknown(user, said):
    with pytest.raises(InvalidInputError) as unknown:
        node_of("nice", REGISTERED, user)
    assert said in unknown.value.cure


def test_what_plans_may_call_a_node():
    """A host means a TaskManager where that is the only one there."""
    assert node_of("pi-1", REGISTERED, None).names == {"pi-1", "10.0.0.1"}
    assert node_of("10.0.0.9", REGISTERED, None).names == {"a", "b"}


@pytest.mark.parametrize(
    ("node", "known", "names"),
    [
        ("pi-1", {"pi-1"}, {"pi-1"}),
        ("mine", set(), {"mine", "10.0.0.1"}),
        # The cluster file knows more of it than the plans do.
        ("mine", {"mine"}, {"mine", "10.0.0.1"}),
        ("lyon", set(), {"a", "b", "mine", "10.0.0.1"}),
    ],
)
def test_a_node_that_is_gone(node, known, names):
    found = node_of(node, REGISTERED[1:], USER, frozenset(known))
    assert found.names == names
    assert found.registered == names & {"a", "b"}
