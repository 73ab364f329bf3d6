"""Runs back ends on instances and judges each instance once all have answered."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from edgeplace.bench.environment import environment
from edgeplace.bench.processes import Processes, memory_share
from edgeplace.bench.record import (
    SOLVED,
    Request,
    Run,
    RunAnswer,
    RunOutcome,
    found_by,
    gap,
    negligible,
    primal_integral,
)
from edgeplace.bench.verdict import RECORD, Verdict, improves, judge
from edgeplace.instances.index import BestKnown, Entry, best_known, digest
from edgeplace.instances.instance import Instance
from edgeplace.model import write
from edgeplace.views.terms import Terms


@dataclass(frozen=True)
class Settings:
    """The settings that all runs of a bench share."""

    backends: tuple[str, ...]
    objective: tuple[str, ...]
    """The first level is `wan`; runs are compared by it."""
    time_limit_s: float
    gap: float
    seed: int
    jobs: int


class Bench:
    """One bench: its instances, the answers so far, and the judgement of them."""

    def __init__(self, instances: Sequence[Instance], settings: Settings) -> None:
        self._instances = {i.name: i for i in instances}
        self.terms = {i.name: Terms.of(i.cluster) for i in instances}
        """The names and units of the terms of each instance."""
        self._known = {i.name: best_known(i) for i in instances}
        self._settings = settings
        self._answers: dict[str, dict[str, RunAnswer]] = {i.name: {} for i in instances}
        self._verdicts: dict[str, Verdict] = {}
        self.environment = environment()

    def run(self, results: TextIO | None, tell: Callable[[str, float], None]) -> None:
        """Run everything.

        Parameters
        ----------
        results
            Gets the environment, and a line for each run as soon as its instance is judged.
        tell
            Called with the name of the last completed run, and the completed share of all runs.
        """
        asked = self._settings
        _line(results, self.environment | {"settings": vars(asked)})
        total, behind = len(self._instances) * len(asked.backends), 0

        def done(request: Request, answer: RunAnswer) -> None:
            nonlocal behind
            behind += 1
            name = names[request.instance]
            own = self._answers[name]
            own[request.backend] = answer
            tell(f"{name} {request.backend}", behind / total)
            if len(own) == len(asked.backends):
                self._verdicts[name] = judge(
                    own, self._known[name], self.terms[name], self._least(name)
                )
                for r in self._runs_of(name):
                    _line(results, r.model_dump(mode="json"))

        with tempfile.TemporaryDirectory(prefix="edgeplace-bench-") as folder:
            names = {}
            requests = []
            for n, instance in enumerate(self._instances.values()):
                path = str(Path(folder) / f"{n}.json")
                write(instance, path)
                names[path] = instance.name
                requests += [self._request(path, b) for b in asked.backends]
            Processes(asked.jobs).run(requests, done)

    def runs(self) -> list[Run]:
        """Return all runs, by instance, then by back end."""
        return [r for name in self._instances for r in self._runs_of(name)]

    def answers(self, instance: str) -> dict[str, RunAnswer]:
        """Return the answers to an instance by back end, in the order asked for."""
        return {b: self._answers[instance][b] for b in self._settings.backends}

    def wrong_records(self) -> dict[str, tuple[str, ...]]:
        """Return the contradictions of the best known values, by instance."""
        return {n: v.wrong[RECORD] for n, v in self._verdicts.items() if RECORD in v.wrong}

    def beaten(self) -> dict[str, str]:
        """Return the improvements of the best known values, by instance."""
        return {name: "; ".join(said.values()) for name, said in self._better().items() if said}

    def new_records(self) -> tuple[Entry, ...]:
        """Return entries for the index: every instance with its best known values."""
        return tuple(self._entry(i) for i in self._instances.values())

    def _least(self, name: str) -> float:
        """Return what tells two figures of `wan` of an instance apart."""
        return negligible(self._instances[name].cluster)

    def _right(self, name: str) -> dict[str, RunAnswer]:
        wrong = self._verdicts[name].wrong
        return {b: a for b, a in self.answers(name).items() if b not in wrong}

    def _better(self) -> dict[str, dict[str, str]]:
        found = {}
        for name, known in self._known.items():
            said = {
                b: improves(a, known, self.terms[name], self._least(name))
                for b, a in self._right(name).items()
            }
            found[name] = {b: f"{b}: {text}" for b, text in said.items() if text}
        return found

    def _entry(self, instance: Instance) -> Entry:
        known, right = self._known[instance.name], self._right(instance.name)
        if known is not None and not self._better()[instance.name]:
            return Entry(name=instance.name, sha256=digest(instance), best=known)
        values = [a.wan for a in right.values() if a.wan is not None]
        bounds = [a.bound for a in right.values() if a.bound is not None]
        if known is not None:
            values += [known.wan] if known.wan is not None else []
            bounds += [known.bound] if known.bound is not None else []
        wan = min(values, default=None)
        infeasible = any(a.outcome is RunOutcome.INFEASIBLE for a in right.values())
        bound = None if infeasible else max(bounds, default=None)
        # A proof gives both figures. Without a proof, value and bound may come from different
        # runs.
        whose = [b for b, a in right.items() if a.outcome in SOLVED] or [
            b
            for b, a in right.items()
            if (wan is not None and a.wan == wan) or (bound is not None and a.bound == bound)
        ]
        releases = self.environment["releases"]
        best = BestKnown(
            wan=wan,
            # By rounding, a bound may be above the value of its own plan.
            bound=bound if wan is None or bound is None else min(bound, wan),
            infeasible=infeasible,
            by=f"{', '.join(whose) or 'nobody'} of edgeplace {self.environment['edgeplace']}; "
            f"{_releases(releases)}",
            day=datetime.now(UTC).date().isoformat(),
        )
        return Entry(name=instance.name, sha256=digest(instance), best=best)

    def _request(self, path: str, backend: str) -> Request:
        asked = self._settings
        return Request(
            instance=path,
            answer=f"{path}.{backend}.answer.json",
            backend=backend,
            objective=asked.objective,
            time_limit_s=asked.time_limit_s,
            gap=asked.gap,
            seed=asked.seed,
            memory_bytes=memory_share(asked.jobs),
        )

    def _runs_of(self, name: str) -> list[Run]:
        instance, verdict = self._instances[name], self._verdicts[name]
        found, least = [], self._least(name)
        for backend, a in self.answers(name).items():
            best, judged = verdict.best_wan, a.evaluation
            steps = found_by(a)
            integral = None
            if best is not None:
                integral = primal_integral(steps, best, self._settings.time_limit_s, least)
            found.append(
                Run(
                    instance=name,
                    subtasks=instance.subtasks,
                    nodes=len(instance.cluster.nodes),
                    sites=len(instance.cluster.sites),
                    backend=backend,
                    status=a.outcome,
                    wan=a.wan,
                    latency_ms=judged.latency_ms if judged else None,
                    server_cores=judged.server_cores if judged else None,
                    moves=judged.moves if judged else None,
                    utilisation=judged.utilisation if judged else None,
                    claimed_wan=a.claimed_wan,
                    bound=a.bound,
                    gap=gap(a.wan, a.bound, least),
                    first_s=steps[0][0] if steps else None,
                    best_s=steps[-1][0] if steps else None,
                    proof_s=a.run_s if a.outcome in SOLVED else None,
                    build_s=a.build_s,
                    run_s=a.run_s,
                    primal_integral_s=integral,
                    memory_bytes=a.memory_bytes,
                    holds=judged.feasible if judged else None,
                    breaks=tuple(v.where for v in judged.violations) if judged else (),
                    best_known_wan=best,
                    wrong=verdict.wrong.get(backend, ()),
                    message=a.message,
                )
            )
        return found


def _releases(releases: object) -> str:
    known = releases if isinstance(releases, dict) else {}
    return ", ".join(f"{name} {known[name]}" for name in ("highspy", "ortools") if name in known)


def _line(results: TextIO | None, data: object) -> None:
    if results is not None:
        results.write(json.dumps(data, ensure_ascii=False) + "\n")
        results.flush()
