"""Two source trees side by side: whether `solve` gives the same answers in both, and how fast.

    python benchmarks/same_answers.py ../before . [--only tree queries] [--drawn 300] [--runs 3]

Each tree answers in a process of its own, one call after the other by turns. Cases are the shipped
instances, those of benchmarks/engine.py, and generated ones of the conformance suite, small and of
every kind, which both back ends answer. None has a time limit, so the answers depend on no clock.

An answer is everything that `solve` returns but its times: status, why it stopped, the plan, each
level's value and bound, the evaluation, the conflict and the notes. Conflicts alone depend on the
clock, since each question in them has 20 s: on a busy machine they may differ.

The table gives a line for each case, and one for all generated cases together; `ratio` is CPU
seconds of the second tree to those of the first, the least of the runs. Ends with 1 if an answer
differs.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
Call = Callable[[], Any]

LONG = ("scale-300", "scale-1000", "multi-query-6", "tree 300", "exchange 16", "queries", "network")
"""Cases that take minutes, or have no proof yet: asked for by `--only`, by name."""
NOTICEABLE_S = 0.05
"""CPU seconds of a case from which on its ratio says something of the code."""


class SourceTree:
    """A process that answers cases with the code of one source tree."""

    def __init__(self, root: Path, drawn: int) -> None:
        paths = [root / "src", root, root / "benchmarks"]
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", "--drawn", str(drawn)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(str(p.resolve()) for p in paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names: list[str] = self._read()

    def answer(self, name: str) -> Answer:
        """Return what a case comes to."""
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        answer: Answer = self._read()
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a tree's process has ended, see above")
        return json.loads(line)


def cases(drawn: int) -> Iterator[tuple[str, str, Call]]:
    """Yield name, digest of the input, and call of every case, with the code on this path."""
    import engine

    from edgeplace.instances.families import generate
    from edgeplace.instances.index import index
    from edgeplace.model import DEFAULT_OBJECTIVE, dump

    for entry in index().instances:
        instance = generate(entry.name)
        where = instance.jobs, instance.cluster, instance.rules
        text = dump(instance)
        for objective in (("wan",), DEFAULT_OBJECTIVE, ("throughput", "wan")):
            name = f"{entry.name} {','.join(objective)}"
            yield name, text, solving(*where, objective, instance.current)
    for family in engine.FAMILIES.values():
        for case in family():
            parts = case.job, case.cluster, case.rules
            name = f"{case.name} {','.join(case.objective)}"
            text = "".join(dump(part) for part in parts)
            yield name, text, solving([parts[0]], *parts[1:], case.objective)
    yield from drawn_cases(drawn)


def drawn_cases(count: int) -> Iterator[tuple[str, str, Call]]:
    """Yield cases of the conformance suite."""
    from tests.conformance.generate import generate
    from tests.conformance.parsed import Parsed

    for seed in range(count):
        case = generate(seed)
        parsed = Parsed.of(case)
        where = parsed.jobs, parsed.cluster, parsed.rules
        for backend in ("milp", "cp-sat"):
            call = solving(*where, parsed.objective, parsed.current, backend=backend)
            yield f"drawn-{seed} {backend}", json.dumps(case), call


def solving(*args: Any, **options: Any) -> Call:
    """Return a call of `solve`, to be made later."""
    from edgeplace.solver import solve

    return lambda: solve(*args, **options)


def serve(drawn: int) -> None:
    """Answer the cases that are named on the standard input."""
    # Solvers write to the standard output, too.
    line = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    known = {name: (text, call) for name, text, call in cases(drawn)}
    print(json.dumps(list(known)), file=line, flush=True)
    for asked in sys.stdin:
        text, call = known[asked.rstrip("\n")]
        begun = time.process_time()
        try:
            said = json.loads(call().model_dump_json(exclude={"runtime_s"}))
        except Exception as e:  # It is the answer.
            said = {"status": type(e).__name__, "stopped_by": str(e), "levels": []}
        said["cpu_s"] = time.process_time() - begun
        said["input"] = hashlib.sha256(text.encode()).hexdigest()
        for incumbent in said.get("incumbents", ()):
            del incumbent["at_s"]
        print(json.dumps(said), file=line, flush=True)


def differences(before: Answer, after: Answer) -> list[str]:
    """Return what differs between two answers, the times aside."""
    names = [name for name in {**before, **after} if name != "cpu_s"]
    return [name for name in names if before.get(name) != after.get(name)]


def compared(name: str, before: Answer, after: Answer) -> str:
    """Return a line of the table."""
    seconds = before["cpu_s"], after["cpu_s"]
    ratio = f"{seconds[1] / seconds[0]:.2f}" if max(seconds) >= NOTICEABLE_S else "-"
    levels = " ".join(f"{v['value']:.10g}/{v['bound']:.10g}" for v in after["levels"])
    same = ", ".join(differences(before, after)) or "same"
    return (
        f"{name:<52} {after['status']:>10} {seconds[0]:>8.2f} {seconds[1]:>8.2f} {ratio:>6} "
        f"{same:<6} {levels}"
    )


def asked(trees: Sequence[SourceTree], name: str, runs: int) -> list[Answer]:
    """Return the answers of the trees, each with the least CPU seconds of some runs."""
    best: list[Answer] = [tree.answer(name) for tree in trees]
    for _ in range(1, runs):
        for answer, tree in zip(best, trees, strict=True):
            answer["cpu_s"] = min(answer["cpu_s"], tree.answer(name)["cpu_s"])
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", type=Path, nargs="*", help="two source trees, the older one first")
    parser.add_argument("--only", nargs="+", default=[], help="cases whose names begin so")
    parser.add_argument("--drawn", type=int, default=300, help="generated cases")
    parser.add_argument("--runs", type=int, default=3, help="the fastest of so many counts")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.drawn)
        return 0
    if len(options.trees) != 2:
        parser.error("give two source trees")
    trees = [SourceTree(root, options.drawn) for root in options.trees]
    named = [name for name in trees[0].names if name in trees[1].names]
    if options.only:
        named = [name for name in named if name.startswith(tuple(options.only))]
    else:
        named = [name for name in named if not name.startswith(LONG)]
    print(
        f"{'case':<52} {'status':>10} {'before s':>8} {'after s':>8} {'ratio':>6} answer "
        "value/bound"
    )
    other, drawn, totals = [], 0, [0.0, 0.0]
    for name in named:
        before, after = asked(trees, name, 1 if name.startswith("drawn") else options.runs)
        if differences(before, after):
            other.append(name)
        if name.startswith("drawn"):
            drawn += 1
            totals = [totals[0] + before["cpu_s"], totals[1] + after["cpu_s"]]
        if not name.startswith("drawn") or differences(before, after):
            print(compared(name, before, after), flush=True)
    if drawn:
        ratio = totals[1] / totals[0]
        print(f"{f'{drawn} generated':<63} {totals[0]:>8.2f} {totals[1]:>8.2f} {ratio:>6.2f}")
    print(f"{len(named)} cases, {len(other)} with another answer")
    for tree in trees:
        tree.close()
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
