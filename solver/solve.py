"""`solve`: index, find a start, build, minimise level by level, check, answer."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypedDict, Unpack

from edgeplace.model import (
    DEFAULT_OBJECTIVE,
    Case,
    Cluster,
    InvalidInputError,
    JobGraph,
    ObjectiveLevel,
    Plan,
    Result,
    Rules,
    Status,
    StoppedBy,
    needing,
    objective_levels,
    refuse_demand,
)
from edgeplace.model.what_if.confidence import planned_with
from edgeplace.solver.clock import limited, prolonged, unhurried
from edgeplace.solver.infeasibility.conflict import find_conflict
from edgeplace.solver.infeasibility.lost_sites import held_at_lost_sites
from edgeplace.solver.infeasibility.shortages import shortages
from edgeplace.solver.linear.backend import Backend
from edgeplace.solver.linear.model import LinearModel
from edgeplace.solver.out_of_time import OutOfTimeError
from edgeplace.solver.parallelism import Asked, Means, choose
from edgeplace.solver.problem import Problem, build, has_state_law, with_state_at_demand
from edgeplace.solver.search import Search, SearchParameters

_LATE_S = 0.5
"""Time to read the input in, where the limit is less."""


def solve(
    job_graph: JobGraph | Sequence[JobGraph],
    cluster: Cluster,
    rules: Rules | None = None,
    objective: Sequence[str | ObjectiveLevel] = DEFAULT_OBJECTIVE,
    current: Plan | None = None,
    time_limit_s: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    workers: int | None = None,
    backend: str = "milp",
    progress: Callable[[str], None] | None = None,
    search: SearchParameters | None = None,
    parallelism: Asked | str | None = None,
    confidence: float | None = None,
) -> Result:
    """Place every subtask of one or more jobs, and prove how good the placement is.

    Parameters
    ----------
    job_graph
        The job, with its costs, or several that share the cluster.
    objective
        Terms to minimise in this order, each subject to the ones before: `wan` (bytes/s over
        links, weighted by price), `latency` (worst path, ms), `server_cores`, `moves`,
        `throughput` (largest utilisation of a limit that grows with the rates), `cost` (money a
        month for links and machines), `wishes` (subtasks that break wishes of the rules, by
        weight: the last term unless it is named). `wan:5%` lets later terms worsen `wan` by 5 %.
        `PRESETS["money"]` is one of the ready-made lists. With `throughput` first, such limits may
        be exceeded: the plan then sustains the share `sustained` of the demand.
    current
        Where the subtasks run now: the answer is never worse.
    time_limit_s
        Wall time of the whole call; None: until proved.
    gap
        Relative gap of a level at which its search may stop.
    workers
        Threads of the back end; None: one, which is deterministic.
    backend
        `milp` (HiGHS), `cp-sat` (OR-Tools), or `pulp:NAME`: a solver that PuLP finds on this
        machine, `pulp:CBC` for one.
    progress
        Called with a line of text when something is found or proved.
    search
        What to tune or switch off in the search; None: nothing.
    parallelism
        Numbers of subtasks to choose from, by operator: `{"window": range(1, 9)}`. `all` in place
        of an operator stands for every other one that may change; `"all"` alone lets each have up
        to its max parallelism. The answer is proved over all combinations (docs/job.md).

    Returns
    -------
    Result
        Infeasible is an answer, with a conflict that says why, never an exception.

    Raises
    ------
    InvalidInputError
        If the inputs are incomplete or contradict one another, or a solver is not found or fails.
    PlanMismatchError
        If the evaluator does not confirm a back end's answer: a bug of edgeplace.
    """
    if confidence is not None:
        jobs = (job_graph,) if isinstance(job_graph, JobGraph) else tuple(job_graph)
        case = Case(jobs, cluster, rules, current).at_confidence(confidence)
        options = SolveOptions(
            objective=objective,
            time_limit_s=time_limit_s,
            gap=gap,
            seed=seed,
            workers=workers,
            backend=backend,
            progress=progress,
            search=search,
            parallelism=parallelism,
        )
        found = solve(case.jobs, cluster, rules, current=current, **options)
        said = planned_with(jobs, confidence)
        return found.model_copy(update={"notes": (said, *found.notes)})
    tell = progress or (lambda text: None)
    levels = levels_with_wishes(objective, cluster, rules)
    # Written so that nan is refused too.
    if not gap >= 0 or not (time_limit_s is None or time_limit_s >= 0):
        raise InvalidInputError(
            f"gap {gap} and time limit {time_limit_s} must not be negative", "use 0 or more"
        )
    load = loader(backend, seed, workers)
    with limited(time_limit_s) as clock:
        soft = levels[0].name == "throughput"
        if parallelism is not None:
            _refuse_wishes(rules)
            refuse_demand(rules, "the parallelism is chosen")
            jobs = (job_graph,) if isinstance(job_graph, JobGraph) else tuple(job_graph)
            if has_state_law(jobs):
                with unhurried():
                    jobs = tuple(with_state_at_demand(jobs)[0])
            case = Case(jobs, cluster, rules, current)
            means = Means(soft, gap, seed, tell, load, search)
            return choose(case, parallelism, levels, means, backend)
        try:
            with prolonged(_LATE_S):
                problem = build(job_graph, cluster, rules, current)
                places = problem.candidates(soft)
        except OutOfTimeError:
            return Result(
                status=Status.UNKNOWN,
                stopped_by=StoppedBy.TIME_LIMIT,
                runtime_s=clock.elapsed_s(),
                backend=backend,
                notes=("the time limit was over before all of the input had been read in",),
            )
        levelwise = Search(problem, levels, soft, clock, gap, seed, tell, load, search)
        possible = bool(places.any(axis=1).all())
        return _answer(problem, levelwise, possible, soft, backend)


def levels_with_wishes(
    objective: Sequence[str | ObjectiveLevel], cluster: Cluster, rules: Rules | None
) -> list[ObjectiveLevel]:
    """Return the levels of an objective; wishes of the rules are the last one unless it is named.

    Raises
    ------
    InvalidInputError
        If a term is not known, or named twice.
    """
    levels = objective_levels(objective, cluster)
    if rules and rules.wishes and all(v.name != "wishes" for v in levels):
        levels.append(ObjectiveLevel(name="wishes"))
    return levels


def _refuse_wishes(rules: Rules | None) -> None:
    if rules and rules.wishes:
        raise InvalidInputError(
            "the rules have wishes, and the parallelism is to be chosen: no bound over all "
            "combinations is known of wishes",
            "leave the wishes out, and solve with them in the parallelism that was chosen",
        )


class SolveOptions(TypedDict, total=False):
    """What `solve` takes beside the case."""

    objective: Sequence[str | ObjectiveLevel]
    time_limit_s: float | None
    gap: float
    seed: int
    workers: int | None
    backend: str
    progress: Callable[[str], None] | None
    search: SearchParameters | None
    parallelism: Asked | str | None
    confidence: float | None


def solve_case(case: Case, **options: Unpack[SolveOptions]) -> Result:
    """Solve a case. Where rules hold subtasks at lost sites, the conflict says so.

    Raises
    ------
    InvalidInputError, PlanMismatchError
        As `solve`.
    """
    refused = held_at_lost_sites(case, options.get("backend", "milp"))
    return refused or solve(case.jobs, case.cluster, case.rules, current=case.current, **options)


def _answer(problem: Problem, search: Search, possible: bool, soft: bool, backend: str) -> Result:
    search.offer_current()
    needed = shortages(problem, soft)
    if problem.m and possible and not needed.members:
        search.run()
    else:
        search.state.proof.infeasible = search.best is None
    search.break_ties()
    conflict = None
    asked = search.state.task.parameters.conflict
    if asked and search.state.proof.infeasible and search.best is None:
        conflict = find_conflict(problem, needed, soft)
    return search.result(backend, conflict)


def loader(name: str, seed: int, workers: int | None) -> Callable[[LinearModel], Backend]:
    """Return what gives a model to a back end; the library is loaded only if it is asked for.

    Raises
    ------
    InvalidInputError
        If there is no such back end on this machine.
    MissingExtraError
        If its library is not installed.
    """
    with needing("solve"):
        return _loader(name, seed, workers)


def _loader(name: str, seed: int, workers: int | None) -> Callable[[LinearModel], Backend]:
    if name == "milp":
        from edgeplace.solver.linear.highs import Milp

        return partial(Milp, seed=seed, workers=workers)
    if name == "cp-sat":
        from edgeplace.solver.linear.cpsat import CpSat

        return partial(CpSat, seed=seed, workers=workers)
    kind, _, solver = name.partition(":")
    if kind == "pulp":
        from edgeplace.solver.linear.pulp_backend import Pulp, resolved

        resolved(solver)
        return partial(Pulp, solver=solver, workers=workers)
    raise InvalidInputError(
        f"there is no back end {name!r}", "use 'milp', 'cp-sat' or 'pulp:NAME', as in pulp:CBC"
    )
