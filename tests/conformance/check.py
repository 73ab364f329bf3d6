"""Hold `solve` against the document: status, value and bound of each level, the plan, the end.

`Solver` calls `solve` in a process of its own, so that a call that does not end is a finding.
"""

import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import numpy as np

from edgeplace.model import RATED, Plan
from edgeplace.model.errors import EdgeplaceError, InvalidInputError
from tests.conformance.cure_check import cure_differences
from tests.conformance.document_oracle import HOURS, SAME, Document
from tests.conformance.document_truth import Truth
from tests.conformance.parsed import Case, Parsed

Answer = dict[str, Any]
BACKENDS = ("milp", "cp-sat")
BY_PULP = "pulp:CBC"
"""Starts a process for each search: the suite holds it against a few cases, `--backends` of
`benchmarks/conformance.py` against as many as one likes."""
HARD_LIMIT_S = 20.0
"""CPU time: a call on a small instance that takes more does not end."""
ROUNDING = 1e-14
"""Of a sum of some floats, relative to it."""
NARROW = 1e4
"""Where the values of all plans span less, no back end's arithmetic is short of digits."""


@dataclass(frozen=True)
class Mismatch:
    """One thing that is not as the document says."""

    kind: str
    backend: str
    said: str

    def __str__(self) -> str:
        return f"{self.backend}: {self.kind}: {self.said}"


def _answer(case: Case, backend: str) -> Answer:
    from edgeplace.solver import solve

    parsed = Parsed.of(case)
    begun = time.process_time()
    try:
        result = solve(
            parsed.jobs,
            parsed.cluster,
            parsed.rules,
            parsed.objective,
            parsed.current,
            backend=backend,  # type: ignore[arg-type]
        )
    except Exception as e:  # Whatever it is, it is a finding.
        return {
            "error": type(e).__name__,
            "said": e.what if isinstance(e, EdgeplaceError) else str(e),
            "invalid": isinstance(e, InvalidInputError),
        }
    return {
        "status": result.status.value,
        "stopped_by": result.stopped_by.value,
        "levels": [(v.name, v.value, v.bound, v.tolerance) for v in result.levels],
        "plan": result.plan.model_dump(mode="json") if result.plan else None,
        "feasible": result.evaluation.feasible if result.evaluation else None,
        "values": {
            v.name: result.evaluation.value(v.name)
            for v in parsed.objective
            if result.evaluation is not None
        },
        "conflict": result.conflict.model_dump(mode="json") if result.conflict else None,
        "cpu_s": time.process_time() - begun,
    }


def _serve(line: Connection) -> None:
    import edgeplace.solver  # noqa: F401 - loading it is no part of a call

    line.send("ready")
    while True:
        try:
            case, backend = json.loads(line.recv())
            line.send(json.dumps(_answer(case, backend)))
        except (EOFError, BrokenPipeError):
            return


class Solver:
    """`solve` in a process that is ended where a call takes too long."""

    def __init__(self, hard_limit_s: float = HARD_LIMIT_S) -> None:
        self.hard_limit_s = hard_limit_s
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._line, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._line.recv()

    def __call__(self, case: Case, backend: str) -> Answer:
        """Return the answer, or {"error": "hang"} or {"error": "death"}."""
        self._line.send(json.dumps([case, backend]))
        begun, last = self._cpu_s(), time.monotonic() + 30 * self.hard_limit_s
        try:
            while self._cpu_s() - begun < self.hard_limit_s and time.monotonic() < last:
                if self._line.poll(1.0):
                    answer: Answer = json.loads(self._line.recv())
                    return answer
            said = {"error": "hang", "said": f"no answer after {self.hard_limit_s:g} s of CPU"}
        except EOFError:
            said = {"error": "death", "said": "the process that solved it ended"}
        self.close()
        self._start()
        return said

    def _cpu_s(self) -> float:
        """Return the CPU time that the process has had; a busy machine is no finding."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check(case: Case, solver: Solver, backends: tuple[str, ...] = BACKENDS) -> list[Mismatch]:
    """Return all in which `solve` and the evaluator differ from the document."""
    parsed = Parsed.of(case)
    document = parsed.document()
    found = list(_evaluator(parsed, document))
    true = Truth(
        document,
        [(v.name, v.tolerance) for v in parsed.objective],
        lambda plan: _holds(parsed, plan),
    )
    for backend in backends:
        answer = solver(case, backend)
        found += [Mismatch(k, backend, s) for k, s in _differences(parsed, document, true, answer)]
    return found


def _holds(parsed: Parsed, plan: Plan) -> bool:
    """Return whether the evaluator lets a plan pass."""
    from edgeplace.solver import evaluate

    said = evaluate(parsed.jobs, parsed.cluster, plan, parsed.rules, parsed.current)
    aside = RATED if parsed.objective[0].name == "throughput" else frozenset()
    return all(v.kind in aside for v in said.violations)


def _evaluator(parsed: Parsed, document: Document) -> Iterator[Mismatch]:
    """Compare the evaluator with the document on a few plans, allowed and not."""
    draw = np.random.default_rng(0)
    rows = [draw.integers(len(document.tms), size=len(document.subtasks)) for _ in range(2)]
    plans = document.plans()
    rows += [plans[draw.integers(len(plans))] for _ in range(3) if len(plans)]
    for row in rows:
        for kind, said in evaluator_differences(parsed, document, document.as_plan(row)):
            yield Mismatch(kind, "evaluator", said)
            return


def evaluator_differences(
    parsed: Parsed, document: Document, plan: Plan
) -> Iterator[tuple[str, str]]:
    """Yield what the evaluator says of a plan and the document does not."""
    from edgeplace.solver import evaluate

    theirs = evaluate(parsed.jobs, parsed.cluster, plan, parsed.rules, parsed.current)
    ours = document.judge(document.as_row(plan))
    broken = sorted(k for k, v in ours.broken.items() if v[0])
    for name, value in ours.values.items():
        if name == "latency" and "route" in broken:
            continue
        said = theirs.value(name)  # type: ignore[arg-type]
        # Bytes beyond a volume are a difference, rounded as the bytes are.
        rounding = ROUNDING * 3600 * HOURS * ours.values["wan"][0] if name == "cost" else 0.0
        if not math.isclose(said, value[0], rel_tol=SAME, abs_tol=rounding):
            yield f"evaluator {name}", f"{said!r} for {float(value[0])!r} of {plan.jobs}"
    if theirs.feasible != bool(ours.hold[0]) and not ours.doubtful[0]:
        yield (
            "evaluator feasible",
            f"breaks {[(v.kind, v.where) for v in theirs.violations]} for {broken} of {plan.jobs}",
        )


def _differences(
    parsed: Parsed, document: Document, true: Truth, answer: Answer
) -> Iterator[tuple[str, str]]:
    if "error" in answer:
        yield answer["error"], answer["said"]
        return
    status, by = answer["status"], answer["stopped_by"]
    if not true.any_plan:
        if status != "infeasible" and not (status == "unknown" and by == "rounding"):
            yield "status", f"{status} by {by}, there is no plan"
        if answer["conflict"] is not None:
            yield from cure_differences(parsed, answer["conflict"], _holds)
        return
    if status == "infeasible":
        yield "status", f"infeasible by {by}, there is a plan"
        return
    if status == "unknown" or answer["plan"] is None:
        yield "status", f"{status} by {by} without a time limit"
        return
    plan = Plan.model_validate(answer["plan"])
    differ = list(evaluator_differences(parsed, document, plan))
    if differ:
        yield from differ
        return  # What follows would be of one cause.
    ours = document.judge(document.as_row(plan))
    holds = ours.rated_aside if parsed.objective[0].name == "throughput" else ours.hold
    if not holds[0] and not ours.doubtful[0]:
        yield "plan", f"breaks {sorted(k for k, v in ours.broken.items() if v[0])}"
    if status == "optimal" and by != "proof":
        yield "status", f"optimal by {by}"
    if status == "feasible" and by != "rounding":
        yield "status", f"feasible by {by} without a time limit or gap"
    values = {v.name: float(ours.values[v.name][0]) for v in parsed.objective}
    levels = true.levels(values)
    if status == "optimal" and len(answer["levels"]) != len(levels):
        yield "levels", f"{[v[0] for v in answer['levels']]} for {[v.name for v in levels]}"
    caps_kept = True
    for level, (name, value, bound, _) in zip(levels, answer["levels"], strict=False):
        final = values[name]
        said = f"level {name}: value {value!r}, bound {bound!r}, optimum {level.optimum!r}"
        if not math.isclose(value, final, rel_tol=SAME):
            yield "value not of plan", f"{said}, of the plan {final!r}"
        if status == "optimal" and value > level.cap:
            yield "value too high", said
        if caps_kept and value < level.lowest * (1 - SAME):
            yield "value too low", said
        if by == "rounding" and caps_kept and value > level.cap and level.span < NARROW:
            yield "rounding without cause", f"{said}, the values of plans span {level.span:.3g}"
        caps_kept &= value <= level.cap  # Else later levels have more plans, rightly.
        if bound > level.optimum * (1 + SAME):
            yield "bound above optimum", said
        if bound > value:
            yield "bound above value", said


def main() -> None:
    """Print what is not as it should be in the cases of files."""
    with Solver() as solver:
        for name in sys.argv[1:]:
            found = check(json.loads(Path(name).read_text()), solver)
            print(f"{name}: {len(found)} mismatches", *found, sep="\n  ")


if __name__ == "__main__":
    main()
