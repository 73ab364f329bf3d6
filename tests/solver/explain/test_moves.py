"""One subtask's other places: what they would do is what the evaluator says."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeplace.model import OBJECTIVES, InvalidInputError, JobGraph, Node, Plan, TaskManager
from edgeplace.solver import evaluate, moves, solve
from edgeplace.solver.problem import build
from tests.support.seeds import filter_cluster, filter_job
from tests.support.strategies import instances

few = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def drawn(data, instance):
    """A plan, complete but not always allowed, and one of its subtasks."""
    job, cluster, _, _ = instance
    ids = [t.id for t in cluster.task_managers]
    places = {
        o.id: tuple(data.draw(st.sampled_from(ids)) for _ in range(o.parallelism))
        for o in job.operators
    }
    op = data.draw(st.sampled_from(job.operators))
    return Plan(jobs={job.name: places}), op, data.draw(st.integers(0, op.parallelism - 1))


def moved(plan, job, op, i, tm):
    places = list(plan.of(job)[op])
    places[i] = tm
    return Plan(jobs={job: {**plan.of(job), op: tuple(places)}})


def terms(found, cluster):
    """What a result says of a plan: `cost` only where the cluster has a currency."""
    shown = (name for name in OBJECTIVES if name != "cost" or cluster.currency)
    return {name: found.value(name) for name in shown}


def names(limits):
    return {(v.kind, v.where) for v in limits}


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data(), latency_first=st.booleans())
def test_every_figure_of_every_option_is_the_evaluators(instance, data, latency_first):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    plan, op, i = drawn(data, instance)
    objective = ("latency", "wan") if latency_first else ("wan", "latency", "server_cores", "moves")
    try:
        build([job], cluster, rules, now)
    except InvalidInputError:
        return
    title = f"{op.name} ({i + 1}/{op.parallelism})"
    found = moves(job, cluster, plan, title, rules, now, objective)
    before = evaluate(job, cluster, plan, rules, now)
    assert found.terms == terms(before, cluster)
    assert found.left_out == 0
    site = {n.id: n.site for n in cluster.nodes}
    spoken_of = 0
    for option in found.options:
        then = evaluate(job, cluster, moved(plan, job.name, op.id, i, option.tried), rules, now)
        assert option.terms == terms(then, cluster)
        assert names(option.breaks) == names(then.violations) - names(before.violations)
        assert names(option.cures) == names(before.violations) - names(then.violations)
        assert all(v in then.violations for v in option.breaks)
        spoken_of += option.task_managers
    assert spoken_of == len(cluster.task_managers) - 1
    # What an option says of the others like it holds for them.
    for t in cluster.task_managers:
        if t.id != found.task_manager:
            then = evaluate(job, cluster, moved(plan, job.name, op.id, i, t.id), rules, now)
            assert any(
                site[t.node] in o.sites
                and all(
                    o.terms[name] == pytest.approx(figure, rel=1e-8)
                    for name, figure in terms(then, cluster).items()
                    if name != "throughput"
                )
                for o in found.options
            )


@pytest.mark.slow
@few
@given(instance=instances(), data=st.data())
def test_options_are_ranked_by_the_objective_level_by_level(instance, data):
    job, cluster, rules, current = instance
    now = Plan(jobs={job.name: current}) if current else None
    plan, op, i = drawn(data, instance)
    found = moves(job, cluster, plan, f"{op.name} ({i + 1}/{op.parallelism})", rules, now)
    reached = [o for o in found.options if o.terms["latency"] >= 0]
    keys = [
        [float(f"{o.terms[n]:.8g}") for n in ("wan", "latency", "server_cores", "moves")]
        for o in reached
    ]
    assert keys == sorted(keys)


def test_equal_machines_are_one_option():
    job, cluster = filter_job(50_000.0), filter_cluster()
    more = [Node(id=f"extra-{i}", site="cloud", node_class="server", cores=16) for i in range(9)]
    larger = cluster.model_copy(
        update={
            "nodes": (*cluster.nodes, *more),
            "task_managers": (
                *cluster.task_managers,
                *(TaskManager(id=n.id, node=n.id, slots=4) for n in more),
            ),
        }
    )
    plan = solve(job, cluster).plan
    found = moves(job, larger, plan, "sink")
    same = next(o for o in found.options if o.sites == ("cloud",))
    assert same.task_managers == 9
    assert same.terms["wan"] == found.terms["wan"]
    pis = next(o for o in found.options if "pi-1" in o.sites)
    assert pis.sites == ("pi-0", "pi-1", "pi-2", "pi-3")


def test_an_operator_with_one_subtask_needs_no_number():
    job, cluster = filter_job(50_000.0), filter_cluster()
    plan = solve(job, cluster).plan
    assert moves(job, cluster, plan, "sink") == moves(job, cluster, plan, "sink (1/1)")


def test_an_operator_may_be_named_as_a_subtask_is():
    job, cluster = filter_job(50_000.0), filter_cluster()
    *others, sink = job.operators
    job = job.revised(operators=(*others, sink.model_copy(update={"name": "part (1/2)"})))
    plan = solve(job, cluster).plan
    assert moves(job, cluster, plan, "part (1/2)") == moves(job, cluster, plan, "part (1/2) (1/1)")


@pytest.mark.parametrize(
    ("subtask", "what", "cure"),
    [
        ("filter (5/4)", "no subtask 'filter (5/4)'", "'filter (1/4)' to 'filter (4/4)'"),
        ("filter (0/4)", "no subtask 'filter (0/4)'", "'filter (1/4)'"),
        ("filter (2/5)", "no subtask 'filter (2/5)'", "'filter (1/4)'"),
        ("filter", "no subtask 'filter'", "'filter (1/4)'"),
        ("flter (1/4)", "no operator 'flter'", "its operators are 'source', 'filter'"),
    ],
)
def test_a_subtask_that_is_not_there_is_told_with_the_names_that_are(subtask, what, cure):
    job, cluster = filter_job(50_000.0), filter_cluster()
    plan = solve(job, cluster).plan
    with pytest.raises(InvalidInputError) as e:
        moves(job, cluster, plan, subtask)
    assert what in e.value.what
    assert cure in e.value.cure


@pytest.mark.slow
def test_of_many_places_some_of_each_kind_are_tried():
    """300 far Pis would hide the server, which costs more WAN than none of them."""
    job, cluster = filter_job(50_000.0), filter_cluster(bandwidth_bytes_per_s=1e7)
    pis = [Node(id=f"far-{i}", site="far", node_class=f"pi-{i % 250}", cores=4) for i in range(300)]
    far = cluster.model_copy(
        update={
            "sites": (*cluster.sites, cluster.sites[0].model_copy(update={"id": "far"})),
            "nodes": (*cluster.nodes, *pis),
            "task_managers": (
                *cluster.task_managers,
                *(TaskManager(id=n.id, node=n.id, slots=4) for n in pis),
            ),
            "links": (
                *cluster.links,
                cluster.links[0].model_copy(update={"source": "far", "target": "cloud"}),
            ),
            "node_classes": (
                *cluster.node_classes,
                *(cluster.node_classes[0].model_copy(update={"id": f"pi-{i}"}) for i in range(250)),
            ),
        }
    )
    plan = solve(job, cluster).plan
    found = moves(job, far, plan, "filter (1/4)", most=500)
    assert found.left_out > 0
    assert sum(o.task_managers for o in found.options) + found.left_out == 304
    assert any("cloud" in o.sites for o in found.options)


def test_the_job_may_be_one_of_several():
    job, cluster = filter_job(50_000.0), filter_cluster(bandwidth_bytes_per_s=1e7)
    second = JobGraph.model_validate({**job.model_dump(), "name": "second"})
    plan = solve([job, second], cluster).plan
    found = moves([job, second], cluster, plan, "second: filter (2/4)")
    assert (found.job, found.operator) == ("second", "filter")
