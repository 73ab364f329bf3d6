"""The filter job where it ran, with costs that say that it could not."""

from edgeplace.model import JobGraph, Plan
from tests.support.seeds import filter_job

RAN = Plan(
    jobs={
        "filter": {
            "source": tuple(f"pi-{i}" for i in range(4)),
            "filter": tuple(f"pi-{i}" for i in range(4)),
            "sink": ("server",),
        }
    }
)


def saturated(over: float, spread: float | None, origin: str = "measured") -> JobGraph:
    """Filters that by their mean cost are busy for more than all of the time, on either class."""
    job = filter_job(50_000.0)
    source, op, sink = job.operators
    rate = source.cost.demand.rates_per_s[0] / (1 + over)
    classes = tuple(
        c.model_copy(
            update={"true_rate_per_s": rate, "relative_spread": spread, "origin": origin}
            if c.node_class == "pi"
            else {"true_rate_per_s": 0.9 * rate, "relative_spread": spread}
        )
        for c in op.cost.classes
    )
    op = op.model_copy(update={"cost": op.cost.model_copy(update={"classes": classes})})
    return job.revised(operators=(source, op, sink))
