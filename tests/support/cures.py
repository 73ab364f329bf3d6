"""The changes of a cure, made to the inputs as a user would make them."""

import math
import re

from edgeplace.model import Link
from edgeplace.model.what_if.cluster_changes import with_bandwidth, with_cores, with_slots


def with_changes(job, cluster, rules, changes, current=None):
    """Return job, cluster and rules with all changes made; nothing is read from text."""
    for change in changes:
        job, cluster, rules = _with(job, cluster, rules, change, current)
    return job, cluster, rules


def _with(job, cluster, rules, change, current):
    more = change.amount
    match change.kind:
        case "slots":
            cluster = with_slots(cluster, change.where, int(more))
        case "node cpu":
            cluster = with_cores(cluster, change.where, more)
        case "memory" | "disk" | "GPUs":
            gpus = change.kind == "GPUs"
            field, added = ("gpus", int(more)) if gpus else (f"{change.kind}_bytes", more)
            cluster = cluster.model_copy(
                update={
                    "task_managers": tuple(
                        t.model_copy(update={field: getattr(t, field) + added})
                        if t.id == change.where
                        else t
                        for t in cluster.task_managers
                    )
                }
            )
        case "link bandwidth":
            ends = change.where.split(" -> ")
            cluster = with_bandwidth(cluster, *ends, lambda now: now + more)
        case "credit window":
            cluster = cluster.model_copy(
                update={
                    name: math.ceil(getattr(cluster, name) * more)
                    for name in ("buffers_per_channel", "floating_buffers_per_gate")
                }
            )
        case "route":
            a, b = change.where.split(" -> ")
            # With a currency every link needs its price.
            free = {"price_per_byte": 0.0} if cluster.currency else {}
            cluster = cluster.model_copy(
                update={"links": (*cluster.links, Link(source=a, target=b, **free))}
            )
        case "subtask busy":
            name = re.sub(r" \(\d+/\d+\) on .*", "", change.where)
            job = job.revised(
                operators=tuple(
                    _faster(op, more) if op.name == name else op for op in job.operators
                )
            )
        case "latency":
            rules = rules.model_copy(update={"max_latency_ms": rules.max_latency_ms + more})
        case "moves":
            rules = rules.model_copy(update={"max_moves": rules.max_moves + int(more)})
        case "latency of a job" | "moves of a job":
            by = "max_moves" if change.kind == "moves of a job" else "max_latency_ms"
            rules = rules.model_copy(
                update={
                    "jobs": tuple(
                        own.model_copy(update={by: getattr(own, by) + more})
                        if own.job == change.where
                        else own
                        for own in rules.jobs
                    )
                }
            )
        case "rule":
            left = tuple(r for r in rules.rules if r.title() != change.where)
            rules = rules.model_copy(update={"rules": left})
            free = {(f.operator, f.subtask) for f in change.frees}
            node = {t.id: t.node for t in cluster.task_managers}
            homes = {op: [node[t] for t in tms] for op, tms in (current or {}).items()}
            job = job.revised(
                operators=tuple(_freed(op, free, homes.get(op.id), rules) for op in job.operators)
            )
    return job, cluster, rules


def _freed(op, free, homes, rules):
    """Return a source of which some subtasks may run anywhere, and the others where they did."""
    if not any(name == op.id for name, _ in free):
        return op
    births = op.born_at * (op.parallelism if len(op.born_at) == 1 else 1)
    if not births:
        # Those of which a rule speaks run where it says, the others where they run now.
        spoken = {
            i
            for r in rules.rules
            if r.kind in ("pin", "match", "never_move") and {op.id, op.name} & set(r.operators)
            for i in getattr(r, "subtasks", ()) or range(op.parallelism)
        }
        births = [
            "anywhere" if i in spoken or not homes else homes[i] for i in range(op.parallelism)
        ]
    places = ["anywhere" if (op.id, i) in free else b for i, b in enumerate(births)]
    return op.model_copy(update={"born_at": tuple(places)})


def _faster(op, factor):
    classes = tuple(
        c.model_copy(update={"true_rate_per_s": c.true_rate_per_s * factor})
        for c in op.cost.classes
    )
    return op.model_copy(update={"cost": op.cost.model_copy(update={"classes": classes})})
