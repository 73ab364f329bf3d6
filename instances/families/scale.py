"""One shape from a hundred to a million subtasks, to measure growth."""

from edgeplace.instances.draws import Draws
from edgeplace.instances.edge_cluster import CLOUD, Machines, edge_cluster, pi_ids, uplink
from edgeplace.instances.instance import Instance
from edgeplace.instances.job_draft import JobDraft
from edgeplace.model import JobGraph, Pin, Rules, ShipStrategy

SENSORS = 4
"""Pipelines of a site, two on each Pi."""
WIDEST = 30_000
"""Pipelines of a job; Flink's largest parallelism is 32,768."""


def scale(size: int, seed: int) -> Instance:
    """Return about `size` subtasks: pipelines of source, decode and filter, and a combiner for
    each ten. Sites share only the server's CPU, which cannot run every filter.

    Raises
    ------
    ValueError
        If `size` is below 32, fewer subtasks than one combiner and its pipelines.
    """
    if size < 32:
        raise ValueError(f"scale starts at 32 subtasks, not {size}")
    draws = Draws("scale", size, seed)
    pis = Machines(count=2, cores=2, slots=4)
    sites = [f"site-{i}" for i in range(max(1, round(size / 3.1 / SENSORS)))]
    births = [pi for s in sites for pi in pi_ids(s, pis) * (SENSORS // 2)]
    parts = [births[i : i + WIDEST] for i in range(0, len(births), WIDEST)]
    jobs = tuple(_job(f"lines-{j}", part, draws) for j, part in enumerate(parts))
    lines = len(births)
    cluster = edge_cluster(
        sites,
        pis,
        Machines(count=1, cores=round(0.35 * lines, 1), slots=3 * lines),
        [uplink(s, None, 20.0, price_per_byte=draws.one_of((1.0, 1.5, 2.0, 4.0))) for s in sites],
    )
    pins = tuple(Pin(job=job.name, operators=("combine",), to=CLOUD) for job in jobs)
    return Instance(
        name=f"scale-{size}-{seed}", jobs=jobs, cluster=cluster, rules=Rules(rules=pins)
    )


def _job(name: str, births: list[str], draws: Draws) -> JobGraph:
    draft = JobDraft(name)
    lines = len(births)
    draft.source("source", births, [draws.between(100, 700) for _ in births])
    draft.operator("decode", lines, draws.between(1500, 2500), pi_speed=0.55)
    draft.operator("filter", lines, draws.between(1200, 2000), pi_speed=0.5)
    draft.operator("combine", max(1, lines // 10), 50_000.0)
    draft.stream("source", "decode", ShipStrategy.FORWARD, 100.0)
    draft.stream("decode", "filter", ShipStrategy.FORWARD, draws.between(110, 180))
    draft.stream("filter", "combine", ShipStrategy.RESCALE, 100.0, selectivity=0.3)
    return draft.job()
