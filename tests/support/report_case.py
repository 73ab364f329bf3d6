"""A plan for ten thousand subtasks, made without a search."""

from functools import cache

import numpy as np

from edgeplace.instances.families import generate
from edgeplace.model import LevelResult, Plan, Result, Status, StoppedBy
from edgeplace.report.solution import solution_page
from edgeplace.solver import evaluate


@cache
def large_page():
    """Return the page of scale-10000-1 on a map, and the evaluation that it shows."""
    case = generate("scale-10000-1")
    some = np.random.default_rng(1)
    sites = tuple(
        s.model_copy(update={"lat": some.uniform(44, 54), "lon": some.normal(5, 4)})
        for s in case.cluster.sites
    )
    case = case.model_copy(update={"cluster": case.cluster.model_copy(update={"sites": sites})})
    (job,) = case.jobs
    births = job.operators[0].born_at
    # Six kinds of sites, from nothing decoded there to all.
    at_edge = [int(pi.split("-")[1]) % 6 > i % 4 for i, pi in enumerate(births)]
    server = next(n.id for n in case.cluster.nodes if n.node_class == "server")
    middle = tuple(pi if edge else server for pi, edge in zip(births, at_edge, strict=True))
    places = {op.id: middle for op in job.operators}
    places[job.operators[0].id] = births
    places[job.operators[-1].id] = (server,) * job.operators[-1].parallelism
    plan = Plan(jobs={job.name: places})
    found = evaluate(job, case.cluster, plan, case.rules)
    result = Result(
        status=Status.FEASIBLE,
        stopped_by=StoppedBy.TIME_LIMIT,
        plan=plan,
        evaluation=found,
        levels=(LevelResult(name="wan", value=found.wan_cost, bound=0.0),),
        runtime_s=1.0,
        backend="milp",
    )
    return solution_page(case, result, (), (), (), ("wan",)), found
