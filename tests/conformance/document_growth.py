"""What docs/formulation.md says of headroom, and of the rate that a plan sustains.

Both are checked, not computed: at the factor that the evaluator says, the fullest limit is full to
a millionth, and at lower ones no limit is exceeded.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from edgeplace.model import JobGraph, Plan, StreamCost
from tests.conformance.document_day import documents_of
from tests.conformance.document_oracle import Document, Plans
from tests.conformance.parsed import Parsed
from tests.support.credit_loop import waiting

LATE_SHARE = 1 / 3
"""Of a full link, which records leave to checkpoints that outlast their interval."""
NEAR = 2e-6
"""The first limit is full to a millionth."""
BELOW = (0.05, 0.7)
FAR = 1e5


def growth_differences(parsed: Parsed, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what the evaluator says of grown rates and the document does not."""
    from edgeplace.solver import evaluate

    theirs = evaluate(parsed.jobs, parsed.cluster, plan, parsed.rules, parsed.current)
    if theirs.headroom == 0 or theirs.utilisation == float("inf"):
        return  # Something is used of which nothing is allowed.
    for said in _reached_first(theirs.headroom, partial(_fullest, parsed, plan)):
        yield "evaluator headroom", f"{theirs.headroom!r}: {said} of {plan.jobs}"
    for said in _reached_first(theirs.sustained, partial(_fullest_held_back, parsed, plan)):
        yield "evaluator sustained", f"{theirs.sustained!r}: {said} of {plan.jobs}"
    windows = any(any(_windows_with_queues(*at)) for at in _grown(parsed, plan, 1.0))
    if theirs.sustained < theirs.headroom * (1 - NEAR) and not windows:
        yield "evaluator sustained", f"{theirs.sustained!r} is less than {theirs.headroom!r}"


def _reached_first(factor: float, share: Callable[[float], float]) -> Iterator[str]:
    if factor == 0:
        return
    end = min(factor, FAR)
    for part in BELOW:
        if share(part * end) > 1 + NEAR:
            yield f"at {part:.0%} of it {share(part * end)!r} of a limit is in use"
    at, beyond = share(end * (1 - NEAR)), share(end * (1 + NEAR))
    if at > 1 + NEAR:
        yield f"a limit is exceeded there: {at!r}"
    if factor < FAR and beyond < 1 - NEAR:
        yield f"no limit is full there: {beyond!r}"


def _fullest(parsed: Parsed, plan: Plan, factor: float) -> float:
    """Return the largest share in use of a limit that grows with the rates, at grown rates."""
    return max(
        float(document.judge(row).values["throughput"][0])
        for document, row in _grown(parsed, plan, factor)
    )


def _fullest_held_back(parsed: Parsed, plan: Plan, factor: float) -> float:
    """Return the same where links send full buffers only, and late checkpoints have at most their
    share of a link.
    """
    each = _grown(parsed, plan, factor, _without_ticks)
    return max(_held_back(document, row) for document, row in each)


def _held_back(document: Document, row: Plans) -> float:
    whole = document.carried(row, least=True)[0]
    document.written = [0.0 for _ in document.written]
    records = document.carried(row, least=True)[0]
    # Now the judge counts no checkpoints; they come back, as far as they count.
    most = float(document.judge(row).values["throughput"][0])
    for link, own, both in zip(document.links, records, whole, strict=True):
        if link.bandwidth_bytes_per_s is None:
            continue
        room = link.bandwidth_bytes_per_s * document.cluster.link_target
        room -= link.background_bytes_per_s
        used = own + min(both - own, LATE_SHARE * max(room, 0.0))
        if used > 0:
            most = max(most, used / room if room > 0 else float("inf"))
    return max([most, *_windows_with_queues(document, row)])


def _windows_with_queues(document: Document, row: Plans) -> Iterator[float]:
    """Yield the share of each credit window that is on the way, or waits for a processor."""
    [plan] = row.tolist()
    site = [document.tm_site[t] for t in plan]
    node = [document.tm_node[t] for t in plan]
    own_cores = document.judge_cores(row)[0]
    cores = [
        sum(own_cores[k] for k, n in enumerate(node) if n == v)
        for v in range(len(document.cluster.nodes))
    ]
    loops, shares = [], []
    for c in document.channels:
        if c.records_per_s > 0 and c.bytes_per_s > 0 and site[c.source] != site[c.target]:
            let_through = document.let_through(c, site[c.source], site[c.target])
            if let_through < float("inf"):
                loops.append(c)
                shares.append(c.bytes_per_s / let_through)
    for end_of in (lambda c: c.source, lambda c: c.target):
        work: dict[tuple[str, int], dict[int, float]] = {}
        used: dict[tuple[str, int], float] = {}
        for i, c in enumerate(loops):
            end = end_of(c)
            alike = sum(d.records_per_s for d in document.channels if end_of(d) == end)
            part = c.records_per_s / alike
            has = document.cluster.nodes[node[end]].cores
            thread, machine = ("thread", end), ("node", node[end])
            used[thread] = document.busy_table[end, plan[end]]
            used[machine] = cores[node[end]] / has
            work.setdefault(thread, {})[i] = part * min(used[thread], 1.0)
            work.setdefault(machine, {})[i] = part * own_cores[end] / max(has, cores[node[end]])
        queues: dict[int, float] = {}
        for station, own in work.items():
            windows = [document.credits(loops[i]) for i in own]
            for i, wait in zip(own, waiting([*own.values()], used[station], windows), strict=True):
                queues[i] = max(queues.get(i, 0.0), wait)
        shares = [share + queues[i] for i, share in enumerate(shares)]
    yield from shares


def _without_ticks(job: JobGraph) -> JobGraph:
    """Return a job whose streams have something to send once in a very long time."""
    streams = []
    for stream in job.streams:
        cost = stream.cost or StreamCost(source=stream.source, target=stream.target)
        seldom = cost.model_copy(update={"flushes_per_s": 1e-12})
        streams.append(stream.model_copy(update={"cost": seldom}))
    return job.model_copy(update={"streams": tuple(streams)})


def _grown(
    parsed: Parsed, plan: Plan, factor: float, as_sent: Callable[[JobGraph], JobGraph] = lambda j: j
) -> list[tuple[Document, Plans]]:
    """Return the documents at the rates of all sources times a factor, and the plan as a row."""
    jobs = [as_sent(_faster(job, factor)) for job in parsed.jobs]
    each = documents_of(jobs, parsed.cluster, parsed.rules, parsed.current)
    return [(document, np.asarray(document.as_row(plan))) for document in each]


def _faster(job: JobGraph, factor: float) -> JobGraph:
    """Return a job whose sources emit more. State grows by its law, or else in proportion."""
    operators = []
    for op in job.operators:
        cost = op.cost
        if cost and cost.demand:
            rates = tuple(factor * r for r in cost.demand.rates_per_s)
            demand = cost.demand.model_copy(update={"rates_per_s": rates})
            cost = cost.model_copy(update={"demand": demand})
        if cost and cost.checkpointed_bytes and not cost.state_law:
            written = factor * cost.checkpointed_bytes
            cost = cost.model_copy(update={"checkpointed_bytes": written})
        operators.append(op.model_copy(update={"cost": cost}))
    return job.model_copy(update={"operators": tuple(operators)})
