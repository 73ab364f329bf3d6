from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from edgeplace.adapters.flink import cluster, job_graph, placement
from edgeplace.model import Cluster, InvalidInputError

SRC = "f362c87ffabe89c8a91fa7d0a523ba6c"
MAP = "23ab3a59b17e9c45f95cff4c728611fc"
FILTER = "8f9f5112ed2d7a8745086a5aed920b28"
AGG = "96eed58e350a66c179f06330f5425345"
SINK = "2e588ce1c86a9d46e2e85186773ce4fd"
END = "a96427162fb6ca6742ec49a2b8d5b661"
Answers = dict[str, Any]


def graph_of(a: Answers) -> Any:
    return job_graph(a["job_detail"], a["job_plan"], checkpoint_config=a["checkpoints_config"])


def two_vertices(strategy: Any = "HASH", p: tuple[int, int] = (2, 2), **more: Any) -> Answers:
    """Return a small /jobs/:jobid answer of Flink 1.18, which holds the plan."""
    names = ("Source: a -> b", "Sink: c")
    vertices = [{"id": f"{i:032x}", "name": names[i], "parallelism": p[i]} for i in (0, 1)]
    entry = {"id": f"{0:032x}", "num": 0, "exchange": "pipelined_bounded", **more}
    if strategy is not None:
        entry["ship_strategy"] = strategy
    nodes: list[Any] = [
        {"id": f"{1:032x}", "parallelism": p[1], "inputs": [entry]},
        {"id": f"{0:032x}", "parallelism": p[0]},
    ]
    return {
        "jid": "j" * 32,
        "name": "old",
        "vertices": vertices,
        "plan": {"jid": "j" * 32, "name": "old", "nodes": nodes},
    }


def test_a_real_job(answers: Answers) -> None:
    job = graph_of(answers)
    assert (job.name, job.job_id) == ("metrics", "9339ac76019ab1be7e6d8e4d2f32a4c1")
    assert [(o.id, o.name, o.parallelism, o.max_parallelism) for o in job.operators] == [
        (SRC, "Source: src", 2, 128),
        (MAP, "map", 3, 128),
        (FILTER, "filter", 2, 128),
        (AGG, "agg", 3, 128),
        (SINK, "sink", 1, 128),
        (END, "Sink: end", 1, 128),
    ]
    assert [(s.source, s.target, s.ship_strategy.value) for s in job.streams] == [
        (SRC, MAP, "REBALANCE"),
        (MAP, FILTER, "REBALANCE"),
        (FILTER, AGG, "HASH"),
        (AGG, SINK, "REBALANCE"),
        (SINK, END, "FORWARD"),
    ]
    assert [o.slot_sharing_group for o in job.operators] == [
        "group-1",
        "group-2",
        "group-3",
        "group-4",
        "group-5",
        "group-5",
    ]
    assert (job.checkpoint_interval_ms, job.state_backend) == (3000, "rocksdb")
    assert job.notes == ()


def test_the_plan_inside_the_job_counts_too(answers: Answers) -> None:
    inside = {**answers["job_detail"], "plan": answers["job_plan"]["plan"]}
    assert job_graph(inside).streams == graph_of(answers).streams


def test_flink_before_1_20_tells_no_slot_sharing_groups() -> None:
    job = job_graph(two_vertices())
    assert {o.slot_sharing_group for o in job.operators} == {"default"}
    assert any("slot sharing groups are not in the answers" in n for n in job.notes)


def test_one_group_for_all_is_called_default(answers: Answers) -> None:
    for v in answers["job_detail"]["vertices"]:
        v["slotSharingGroupId"] = "c27fa5b476d68877cadebee733cc4d90"
    assert {o.slot_sharing_group for o in graph_of(answers).operators} == {"default"}


@pytest.mark.parametrize(
    ("name", "chain"),
    [
        ("map", ("map",)),
        ("Source: a -> b", ("Source: a", "b")),
        ("Source: a -> b -> Sink: c", ("Source: a", "b", "Sink: c")),
        ("a -> (b -> c, Sink: d)", ("a", "b", "c", "Sink: d")),
        ("a -> (b -> (c, d), e)", ("a", "b", "c", "d", "e")),
        ("Calc(select=[x -> y, z]) -> Sink", ("Calc(select=[x -> y, z])", "Sink")),
        ("a, b", ("a, b",)),
        ("odd ( -> name", ("odd ( -> name",)),
    ],
)
def test_chains(name: str, chain: tuple[str, ...]) -> None:
    answer = two_vertices()
    answer["vertices"][0]["name"] = name
    assert job_graph(answer).operators[0].chained == chain


@pytest.mark.parametrize(
    ("label", "strategy", "note"),
    [
        ("HASH", "HASH", None),
        ("HASH[user, item]", "HASH", None),
        ("broadcast", "BROADCAST", None),
        ("CUSTOM", "CUSTOM", None),
        ("GLOBAL", "GLOBAL", None),
        ("TELEPORT", "CUSTOM", "ship strategy 'TELEPORT' is not known"),
        (None, "CUSTOM", "ship strategy None is not known"),
    ],
)
def test_ship_strategies(label: Any, strategy: str, note: str | None) -> None:
    job = job_graph(two_vertices(label))
    assert job.streams[0].ship_strategy == strategy
    assert any("ship strategy" in n for n in job.notes) is (note is not None)
    assert note is None or any(note in n for n in job.notes)


def test_forward_between_unequal_parallelisms_is_rescale() -> None:
    job = job_graph(two_vertices("FORWARD", (2, 3)))
    assert job.streams[0].ship_strategy == "RESCALE"
    assert any("FORWARD between unequal parallelisms" in n for n in job.notes)


@pytest.mark.parametrize(
    ("parallelism", "stated", "expected"),
    [
        (2, None, 128),
        (2, -1, 128),
        (2, 720, 720),
        (85, -1, 128),
        (86, -1, 256),
        (200, -1, 512),
        (32768, -1, 32768),
    ],
)
def test_max_parallelism_falls_back_to_flinks_default(
    parallelism: int, stated: int | None, expected: int
) -> None:
    answer = two_vertices(p=(2, parallelism))
    if stated is not None:
        answer["vertices"][1]["maxParallelism"] = stated
    job = job_graph(answer)
    assert job.operators[1].max_parallelism == expected
    noted = any("'Sink: c': max parallelism is not in the answer" in n for n in job.notes)
    assert noted is (stated != expected)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [(3000, 3000), (2**63 - 1, None), (9.223372036854776e18, None), (0, None), (-1, None)],
)
def test_checkpoint_intervals(interval: float, expected: float | None) -> None:
    config = {"interval": interval, "state_backend": "HashMapStateBackend"}
    job = job_graph(two_vertices(), checkpoint_config=config)
    assert job.checkpoint_interval_ms == expected
    assert job.state_backend == "heap"


@pytest.mark.parametrize("backend", ["ForStStateBackend", [1], None])
def test_an_unknown_state_backend_is_noted(backend: object) -> None:
    config = {"interval": 1000, "state_backend": backend}
    job = job_graph(two_vertices(), checkpoint_config=config)
    assert any(f"{backend!r} is not known" in n for n in job.notes)


def test_the_job_as_it_runs_wins_over_its_plan(answers: Answers) -> None:
    answers["job_detail"]["vertices"][1]["parallelism"] = 5
    job = graph_of(answers)
    assert job.operator("map").parallelism == 5
    assert any("'map' runs with parallelism 5, its plan says 3" in n for n in job.notes)


def edit(*path: Any, to: Any) -> Callable[[Answers], None]:
    def apply(a: Answers) -> None:
        for key in path[:-1]:
            a = a[key]
        if to is ...:
            del a[path[-1]]
        else:
            a[path[-1]] = to

    return apply


BROKEN_JOBS = [
    (edit("job_detail", "jid", to=...), "'jid' is missing"),
    (edit("job_detail", to={"errors": ["Job 93 not found"]}), "error of Flink's: Job 93 not found"),
    (edit("job_detail", "vertices", to=[]), "the job has no vertices yet"),
    (edit("job_detail", "vertices", to={}), "'vertices' is {}"),
    (edit("job_detail", "vertices", 0, to="x"), "expected an object, found 'x'"),
    (edit("job_detail", "vertices", 1, "name", to=...), f"vertex {MAP}: 'name' is missing"),
    (edit("job_detail", "vertices", 1, "parallelism", to=True), "'parallelism' is True"),
    (edit("job_detail", "vertices", 1, "parallelism", to=-1), "'map' has parallelism -1"),
    (edit("job_detail", "vertices", 1, to=...), f"the job lacks the plan's vertices ['{MAP}']"),
    (edit("job_detail", "job-type", to="BATCH"), "is a batch job"),
    (edit("job_detail", "pending-operators", to=2), "is a batch job"),
    (edit("job_plan", "plan", "type", to="BATCH"), "is a batch job"),
    (edit("job_plan", "plan", "jid", to="0" * 32), "the plan is of job 0000"),
    (edit("job_plan", "plan", "nodes", to=...), "/plan: 'nodes' is missing"),
    (edit("job_plan", "plan", "nodes", 0, to=...), "the plan lacks ['Sink: end']"),
    (edit("job_plan", to=None), "holds no plan"),
    (
        edit("job_plan", "plan", "nodes", 0, "inputs", 0, "id", to="1" * 32),
        "'Sink: end' has an input from 1111",
    ),
    (
        edit("job_plan", "plan", "nodes", 0, "inputs", 0, "exchange", to="blocking"),
        "stream 'sink' -> 'Sink: end' has the exchange 'blocking'",
    ),
    (edit("checkpoints_config", "interval", to="3 s"), "'interval' is '3 s'"),
    (edit("job_detail", "vertices", 1, "maxParallelism", to=2), "'map'"),
]


@pytest.mark.parametrize(("broken", "says"), BROKEN_JOBS)
def test_broken_jobs(answers: Answers, broken: Callable[[Answers], None], says: str) -> None:
    broken(answers)
    with pytest.raises(InvalidInputError) as e:
        graph_of(answers)
    assert says in e.value.what
    assert e.value.cure


def test_placement_by_task_manager_id(answers: Answers) -> None:
    assert placement({AGG: answers["vertex_agg"], SRC: answers["vertex_source"]}) == {
        AGG: ("127.0.0.4:41063-393f59", "127.0.0.4:41063-393f59", "127.0.0.3:39035-de67c7"),
        SRC: ("127.0.0.2:46001-e75116", "127.0.0.3:39035-de67c7"),
    }


@pytest.mark.parametrize(
    ("subtask", "place"),
    [
        ({"endpoint": "pi-1:4000", "taskmanager-id": "rpi-1"}, "rpi-1"),
        ({"endpoint": "pi-1:4000"}, "pi-1:4000"),
        ({"host": "pi-1:4000"}, "pi-1:4000"),
        ({"endpoint": "(unassigned)", "taskmanager-id": "(unassigned)"}, None),
        ({"host": "(unassigned)"}, None),
        ({}, None),
    ],
)
def test_locations_of_flink_1_and_2(subtask: Answers, place: str | None) -> None:
    answer = {"id": "v", "parallelism": 2, "subtasks": [{"subtask": 1, **subtask}]}
    assert placement({"v": answer}) == {"v": (None, place)}


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (edit("id", to="w"), "is of vertex w"),
        (edit("subtasks", to=...), "'subtasks' is missing"),
        (edit("subtasks", 1, "subtask", to=0), "subtask 0 is listed twice"),
        (edit("subtasks", 1, "subtask", to=7), "subtask 7 is not within 0..2"),
        (edit("parallelism", to="3"), "'parallelism' is '3'"),
    ],
)
def test_broken_vertices(answers: Answers, broken: Callable[[Answers], None], says: str) -> None:
    broken(answers["vertex_agg"])
    with pytest.raises(InvalidInputError, match=r"vertices/96eed58e") as e:
        placement({AGG: answers["vertex_agg"]})
    assert says in e.value.what


def test_the_cluster_is_joined_with_what_is_registered(
    answers: Answers, user_cluster: Cluster
) -> None:
    joined = cluster(answers["taskmanagers"], user_cluster)
    assert [(t.id, t.node, t.host, t.slots, t.memory_bytes) for t in joined.task_managers] == [
        ("127.0.0.4:41063-393f59", "server", "127.0.0.4", 8, 281857228 + 112407348),
        ("pi-1", "pi-1", "127.0.0.2", 2, 135056589 + 72142029),
        ("pi-2", "pi-2", "127.0.0.3", 4, 161480703 + 79691777),
    ]
    assert joined.notes == ()
    assert joined.links == user_cluster.links
    places = placement({AGG: answers["vertex_agg"]})[AGG]
    assert [joined.resolve_task_manager(str(p)) for p in places] == [
        "127.0.0.4:41063-393f59",
        "127.0.0.4:41063-393f59",
        "pi-2",
    ]


def test_the_users_cluster_may_be_plain_data(answers: Answers, user_cluster: Cluster) -> None:
    plain = user_cluster.model_dump()
    assert cluster(answers["taskmanagers"], plain) == cluster(answers["taskmanagers"], user_cluster)


def test_differences_to_the_cluster_file_are_noted(answers: Answers, user_cluster: Cluster) -> None:
    answers["taskmanagers"]["taskmanagers"][1]["slotsNumber"] = 3
    answers["taskmanagers"]["taskmanagers"].pop(2)
    joined = cluster(answers["taskmanagers"], user_cluster)
    assert {t.id: t.slots for t in joined.task_managers}["pi-1"] == 3
    assert joined.notes == (
        "TaskManager 'pi-1': slots is 3 in Flink and 2 in the cluster file; Flink's is used",
        "TaskManager 'pi-2' is not registered with Flink: not used",
    )


def another(answers: Answers, **changes: Any) -> None:
    tms = answers["taskmanagers"]["taskmanagers"]
    tms.append({**deepcopy(tms[1]), **changes})


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (
            lambda a: another(a, id="x:1-a", path="pekko.tcp://flink@x:1/user/rpc/taskmanager_0"),
            "x:1-a is registered, but the cluster file does not have it",
        ),
        (
            lambda a: another(a, id="127.0.0.2:55555-ffffff"),
            "127.0.0.2:55555-ffffff and 127.0.0.2:46001-e75116 both match 'pi-1'",
        ),
        (edit("taskmanagers", "taskmanagers", to=[]), "lists no TaskManagers"),
        (edit("taskmanagers", "taskmanagers", to=...), "'taskmanagers' is missing"),
        (
            edit("taskmanagers", "taskmanagers", 0, "memoryConfiguration", to=...),
            "127.0.0.4:41063-393f59: 'memoryConfiguration' is missing",
        ),
    ],
)
def test_clusters_that_do_not_fit(
    answers: Answers, user_cluster: Cluster, broken: Callable[[Answers], None], says: str
) -> None:
    broken(answers)
    with pytest.raises(InvalidInputError) as e:
        cluster(answers["taskmanagers"], user_cluster)
    assert says in e.value.what
    assert e.value.cure


def test_task_managers_that_share_a_host_need_resource_ids(answers: Answers) -> None:
    shared = Cluster.model_validate(
        {
            "sites": [{"id": "s"}],
            "nodes": [{"id": "n", "site": "s", "cores": 1}],
            "task_managers": [
                {"id": name, "node": "n", "slots": 1, "host": "127.0.0.2"} for name in ("a", "b")
            ],
        }
    )
    answers["taskmanagers"]["taskmanagers"] = answers["taskmanagers"]["taskmanagers"][1:2]
    with pytest.raises(InvalidInputError, match="resource-id"):
        cluster(answers["taskmanagers"], shared)
    answers["taskmanagers"]["taskmanagers"][0]["id"] = "b"
    assert [t.id for t in cluster(answers["taskmanagers"], shared).task_managers] == ["b"]


def test_a_configured_resource_id_is_found_by_its_host(
    answers: Answers, user_cluster: Cluster
) -> None:
    tm = answers["taskmanagers"]["taskmanagers"][1]
    tm["id"] = "rpi-at-the-gate"
    joined = cluster({"taskmanagers": [tm]}, user_cluster)
    assert [(t.id, t.host) for t in joined.task_managers] == [("pi-1", "127.0.0.2")]
