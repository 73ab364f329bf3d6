"""The loop's own figures, as Prometheus takes them: names, meaning, values.

https://prometheus.io/docs/instrumenting/exposition_formats/ has the text format.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from edgeplace.control.loop.expected.day import coverage
from edgeplace.control.loop.guard import held_now, load_of, rates_now
from edgeplace.control.loop.memory import Memory
from edgeplace.control.settings import Mode

PREFIX = "edgeplace_control_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Sample = tuple[Mapping[str, str], float]
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Metric:
    """A metric, with its value for each set of labels; no values: it is not known."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    samples: tuple[Sample, ...] = ()


def metrics(memory: Memory, now_s: float) -> Iterator[Metric]:
    """Yield all metrics of a loop that leads; `now_s` is of the loop's clock."""

    def one(name: str, help_: str, value: float | None) -> Metric:
        return Metric(PREFIX + name, "gauge", help_, () if value is None else (({}, value),))

    def by(name: str, help_: str, label: str, values: Mapping[str, float]) -> Metric:
        samples = tuple(({label: key}, float(value)) for key, value in values.items())
        return Metric(PREFIX + name, "gauge", help_, samples)

    def counted(name: str, help_: str, labels: tuple[str, str], counts: Counts) -> Metric:
        samples = tuple(
            (dict(zip(labels, (first, second), strict=True)), float(n))
            for first, row in counts.items()
            for second, n in row.items()
        )
        return Metric(PREFIX + name, "counter", help_, samples)

    rates = rates_now(memory.recent)
    yield one("leader", "This process leads.", 1.0)
    age_s = memory.costs_age_s
    yield one("costs_age_seconds", "Age of the costs, when they were last read.", age_s)
    yield one("epoch", "Leaders so far.", memory.epoch)
    modes = {mode: float(mode == memory.mode) for mode in get_args(Mode)}
    yield by("mode", "1 for what the loop may do now.", "mode", modes)
    yield one(
        "fallen", "The loop only recommends until a person looks.", float(bool(memory.fallen))
    )
    seen_s = memory.observed_s
    yield one(
        "observation_age_seconds",
        "Since the last whole answer of Flink.",
        None if seen_s is None else max(0.0, now_s - seen_s),
    )
    yield one("rate_records_per_second", "Of all sources.", sum(rates.values()) if rates else None)
    yield one("load_ratio", "Rates over those that what runs sustains.", load_of(memory, rates))
    yield one(
        "held_ratio",
        "Share of the time in which sources are held back.",
        held_now(memory.recent) if rates else None,
    )
    yield counted(
        "decisions_total",
        "Decisions by verdict; a hindered one counts for each gate that said no.",
        ("verdict", "gate"),
        memory.decisions_made,
    )
    yield counted(
        "changes_total", "Changes by kind and end.", ("kind", "result"), memory.changes_made
    )
    yield Metric(
        PREFIX + "change_seconds_total",
        "counter",
        "From the intents of changes to their ends.",
        (({}, memory.changing_s),),
    )
    yield one("change_open", "A change is not closed.", float(memory.change is not None))
    price = memory.price
    yield one(
        "regret_ratio",
        "What staying cost more, over the price of the change; it is made at 1.",
        memory.regret / price if price > 0 else None,
    )
    yield one(
        "bias_ratio", "What placements sustain, as a share of what their costs say.", memory.bias
    )
    yield one(
        "day_gap_ratio",
        "How far the path of the day may be from the best one, as a share of its cost.",
        memory.day_gap,
    )
    yield by(
        "lost",
        "1 for a site of which no TaskManager is there.",
        "site",
        {name: name in memory.lost for name in memory.sites},
    )
    yield by(
        "quarantined",
        "1 for a place that gets nothing new, as it was lost too often.",
        "place",
        {name: f.out for name, f in memory.losses.items()},
    )
    yield by(
        "forecast_coverage_ratio",
        "Share of the last week's half hours that stayed below the bound that was forecast.",
        "source",
        {} if memory.settings is None else coverage(memory),
    )
    yield one(
        "wan_bytes_per_second_predicted",
        "Of what runs, at the rates that are expected.",
        memory.figures.wan_bytes_per_s if memory.figures else None,
    )


def text(memory: Memory, now_s: float) -> str:
    """Return the metrics as Prometheus reads them."""
    lines = []
    for metric in metrics(memory, now_s):
        lines.append(f"# HELP {metric.name} {metric.help}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for labels, value in metric.samples:
            said = ",".join(f'{k}="{v.translate(_ESCAPES)}"' for k, v in labels.items())
            lines.append(
                f"{metric.name}{{{said}}} {value!r}" if said else f"{metric.name} {value!r}"
            )
    return "\n".join(lines) + "\n"
