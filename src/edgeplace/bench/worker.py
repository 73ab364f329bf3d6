"""One run of the bench, in a process of its own: `python -m edgeplace.bench.worker < REQUEST`."""

import resource
import sys
import time

from edgeplace.bench.record import Request, RunAnswer, RunOutcome
from edgeplace.instances.instance import Instance
from edgeplace.model import Status, is_backend, objective_levels, read, write
from edgeplace.solver import build, evaluate, loader, solve
from edgeplace.solver.baselines import PUBLISHED, Budget
from edgeplace.solver.tolerances import OPTIMAL_GAP

OUTCOMES = {
    Status.OPTIMAL: RunOutcome.OPTIMAL,
    Status.FEASIBLE: RunOutcome.FEASIBLE,
    Status.INFEASIBLE: RunOutcome.INFEASIBLE,
    Status.UNKNOWN: RunOutcome.NONE,
}


def main() -> None:
    """Carry out the request on standard input, and write the answer to its file."""
    request = Request.model_validate_json(sys.stdin.read())
    if request.memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (request.memory_bytes, request.memory_bytes))
    try:
        answer = run(read(request.instance, Instance), request)
    except MemoryError:
        answer = RunAnswer(outcome=RunOutcome.MEMORY, message="ran out of memory")
    except Exception as e:
        answer = RunAnswer(outcome=RunOutcome.ERROR, message=f"{type(e).__name__}: {e}")
    # A solver of PuLP is a process of its own.
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in whose)
    unit = 1 if sys.platform == "darwin" else 1024
    write(answer.model_copy(update={"memory_bytes": peak * unit}), request.answer)


def run(instance: Instance, request: Request) -> RunAnswer:
    """Run a back end on an instance and return its answer, judged by the evaluator."""
    began = time.perf_counter()
    problem = build(list(instance.jobs), instance.cluster, instance.rules, instance.current)
    build_s = time.perf_counter() - began
    # Loading a solver's library takes a second or more, and is not part of solving.
    loader(request.backend if is_backend(request.backend) else "milp", seed=0, workers=None)
    began = time.perf_counter()
    if is_backend(request.backend):
        answer = _solve(instance, request)
    else:
        budget = Budget(time_limit_s=request.time_limit_s, seed=request.seed)
        found = PUBLISHED[request.backend](problem, budget)
        plan = None if found.assignment is None else problem.plan(found.assignment)
        impossible = found.bound == float("inf")
        answer = RunAnswer(
            outcome=RunOutcome.INFEASIBLE if impossible else RunOutcome.NONE,
            bound=None if impossible else found.bound,
            plan=plan,
        )
    run_s = time.perf_counter() - began
    if answer.plan is not None:
        # The plan is judged independently of the back end.
        judged = evaluate(
            list(instance.jobs), instance.cluster, answer.plan, instance.rules, instance.current
        )
        answer = answer.model_copy(update={"evaluation": judged})
    if answer.outcome is RunOutcome.NONE and answer.wan is not None:
        proved = (answer.bound or 0.0) >= answer.wan * (1 - OPTIMAL_GAP)
        outcome = RunOutcome.OPTIMAL if proved else RunOutcome.FEASIBLE
        answer = answer.model_copy(update={"outcome": outcome})
    return answer.model_copy(update={"build_s": build_s, "run_s": run_s})


def _solve(instance: Instance, request: Request) -> RunAnswer:
    result = solve(
        list(instance.jobs),
        instance.cluster,
        instance.rules,
        objective=request.objective,
        current=instance.current,
        time_limit_s=request.time_limit_s,
        gap=request.gap,
        seed=request.seed,
        backend=request.backend,
    )
    first = objective_levels(request.objective)[0].name
    answer = RunAnswer(
        outcome=OUTCOMES[result.status],
        plan=result.plan,
        # With throughput first, limits that grow with the rates may be exceeded.
        exact=first != "throughput",
    )
    if first != "wan":
        return answer
    claimed = result.levels[0].value if result.levels else None
    return answer.model_copy(
        update={
            "claimed_wan": claimed,
            "bound": result.bound,
            "incumbents": result.incumbents,
        }
    )


if __name__ == "__main__":
    main()
