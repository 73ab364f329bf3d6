"""The headline's table, picture and prediction errors, from the cells that were measured."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from edgeplace import Cluster, JobGraph, Plan, evaluate
from edgeplace.model import read
from testbed.experiments.at_rates import at_all_rates
from testbed.experiments.policies import (
    EDGEPLACE,
    FLINK,
    at_core_speed,
    over,
    sustained_per_subtask,
    with_rate,
    without_background,
)
from testbed.experiments.workloads import WORKLOADS

POLICIES = (FLINK, "all-server", "threshold", EDGEPLACE)
CELLS = "cells.jsonl"
CLUSTER = "cluster.json"
ENVIRONMENT = "environment.json"
TABLE = "README.md"
PICTURE = "headline.svg"
_JOB_FILE = ".job.json"
_MOST_UTILISED = 0.7
"""Largest use of any limit for a comparison of latency. Beyond it, waiting does not depend on
single channels.
"""
_WITH_WINDOWS = ("q5-hot-items", "q8-window-join", "q11-sessions", "sql-two-phase")
"""Workloads whose results wait for the end of a window. Combiners delay records on purpose,
too.
"""
_HOLDING_BACK = (*_WITH_WINDOWS, "word-count", "t-digest")
AS_OFFERED = 0.98
"""Share of the offered rate above which the measured rate shows the offer, not the sustained
rate.
"""


@dataclass(frozen=True)
class Error:
    """A relative error: a prediction against a measurement."""

    workload: str
    mbit_per_s: float
    policies: tuple[str, ...]
    predicted: float
    measured: float

    @property
    def relative(self) -> float:
        """(predicted - measured) / measured; infinite where nothing was measured."""
        return self.predicted / self.measured - 1 if self.measured else math.inf


@dataclass(frozen=True)
class Errors:
    """The errors of the model."""

    wan: tuple[Error, ...]
    sustained: tuple[Error, ...]
    sustained_at_speed_of_costs: tuple[Error, ...]
    latency: tuple[Error, ...]


def job_file(workload: str, mbit_per_s: float) -> str:
    """Return the name of the file with the costs that a workload was planned with."""
    return f"{workload}-{mbit_per_s:g}{_JOB_FILE}"


def predicted(folder: Path, cell: Mapping[str, Any]) -> dict[str, float]:
    """Return the prediction for a placement, from costs measured under other placements.

    It is computed here and not during the measurement, so that a better model needs no new
    measurements.
    """
    job = _job(folder, cell["workload"], cell["mbit_per_s"])
    whole = read(folder / CLUSTER, Cluster)
    cluster = cluster_of(whole, cell)
    plan = Plan(jobs={job.name: {op: tuple(tms) for op, tms in cell["placement"].items()}})
    verdict = evaluate(with_rate(job, cell["per_subtask"]), cluster, plan)
    relative = core_speed_of(cell)
    sustained, _ = sustained_per_subtask(job, cluster_of(whole, cell, relative), plan)
    unaware, _ = sustained_per_subtask(job, cluster, plan)
    # If checkpoints alone exceed a link, the link is full.
    idle = json.loads((folder / ENVIRONMENT).read_text())["idle_link_bytes_per_s"]
    room = {link.where: (link.capacity or math.inf) - idle[link.where] for link in verdict.links}
    carried = (min(link.used, room[link.where]) for link in verdict.links)
    return {
        "wan_bytes_per_s": sum(carried),
        "latency_ms": verdict.latency_ms,
        "utilisation": verdict.utilisation,
        "sustained_per_subtask": sustained,
        "sustained_at_speed_of_costs": unaware,
    }


def core_speed_of(cell: Mapping[str, Any]) -> float:
    """Return the speed of the cores under overload, over that at which costs were measured."""
    speed = cell["full"].get("core_speed")
    # The cells of 22 November 2026 do not tell it.
    return float(speed / cell["core_speed_of_costs"]) if speed else 1.0


def cluster_of(whole: Cluster, cell: Mapping[str, Any], core_speed: float = 1.0) -> Cluster:
    """Return the cluster as it was for a cell.

    Parameters
    ----------
    whole
        The cluster without WAN and background.
    core_speed
        Speed of the cores over that at which costs were measured.
    """
    fast = at_core_speed(whole, core_speed)
    return over(without_background(fast, cell.get("background_cores", {})), cell["mbit_per_s"])


def _job(folder: Path, workload: str, mbit_per_s: float) -> JobGraph:
    """Return a job with its costs, and with the traffic of its streams at all measured rates.

    Each WAN has its costs at the common rate of its placements. The sustained rate may be many
    times as high.
    """
    files = sorted(folder.glob(f"{workload}-*{_JOB_FILE}"))
    own = read(folder / job_file(workload, mbit_per_s), JobGraph)
    return at_all_rates(own, [read(file, JobGraph) for file in files])


def cells_of(folder: Path) -> list[dict[str, Any]]:
    """Return the measurements with their predictions, in the order of the table.

    Raises
    ------
    FileNotFoundError
        If nothing has been measured.
    """
    cells = [json.loads(line) for line in (folder / CELLS).read_text().splitlines()]
    order = [w.name for w in WORKLOADS]
    cells.sort(key=lambda c: (order.index(c["workload"]), -c["mbit_per_s"]))
    return [{**cell, "predicted": predicted(folder, cell)} for cell in cells]


def errors(cells: Sequence[Mapping[str, Any]], idle_bytes_per_s: float) -> Errors:
    """Return all predictions against all measurements; none is dropped.

    If everything offered was sustained, more might have been. A higher prediction then counts as
    the offered rate.

    Parameters
    ----------
    idle_bytes_per_s
        Bytes per second over all links of a Flink without jobs.
    """

    def of(cell: Mapping[str, Any], predicted: float, measured: float) -> Error:
        return Error(
            cell["workload"], cell["mbit_per_s"], tuple(cell["policies"]), predicted, measured
        )

    wan: list[Error] = []
    sustained: list[Error] = []
    unaware: list[Error] = []
    latency: list[Error] = []
    for cell in cells:
        said, steady = cell["predicted"], cell["steady"]
        wan.append(of(cell, said["wan_bytes_per_s"] + idle_bytes_per_s, steady["wan_bytes_per_s"]))
        for found, name in (
            (sustained, "sustained_per_subtask"),
            (unaware, "sustained_at_speed_of_costs"),
        ):
            found.append(of(cell, of_offered(cell, said[name]), cell["full"]["per_subtask"]))
        with_room = said["utilisation"] <= _MOST_UTILISED
        if steady["latency"] and cell["workload"] not in _HOLDING_BACK and with_room:
            latency.append(of(cell, said["latency_ms"], steady["latency"]["p95_ms"]))
    return Errors(tuple(wan), tuple(sustained), tuple(unaware), tuple(latency))


def of_offered(cell: Mapping[str, Any], said: float) -> float:
    """Return a predicted sustained rate of a cell; at most the offered rate, if all of it was
    sustained.
    """
    full = cell["full"]
    if _all_of_it(full):
        return min(said, float(max(full["offered_per_subtask"], full["per_subtask"])))
    return said


def _all_of_it(full: Mapping[str, Any]) -> bool:
    """Return whether the whole offered rate was sustained; the offered rate may be unknown."""
    offered = full.get("offered_per_subtask")
    return offered is not None and full["per_subtask"] >= AS_OFFERED * offered


def against_others(
    cells: Sequence[Mapping[str, Any]], figure: str
) -> list[tuple[float, Mapping[str, Any]]]:
    """Return edgeplace's figure over that of each other placement, lowest first, with its cell.

    Parameters
    ----------
    figure
        `sustained`, or `wan` for the traffic at the common rate.
    """

    def of(cell: Mapping[str, Any]) -> float:
        return float(
            cell["full"]["per_subtask"]
            if figure == "sustained"
            else cell["steady"]["wan_bytes_per_s"]
        )

    ours = {(c["workload"], c["mbit_per_s"]): c for c in cells if EDGEPLACE in c["policies"]}
    found = [
        (of(ours[c["workload"], c["mbit_per_s"]]) / of(c), c)
        for c in cells
        if EDGEPLACE not in c["policies"] and (c["workload"], c["mbit_per_s"]) in ours
    ]
    return sorted(found, key=lambda each: each[0])


def report(folder: Path) -> str:
    """Write table and picture of the cells in a folder, and return the table.

    Raises
    ------
    FileNotFoundError
        If nothing has been measured.
    """
    cells = cells_of(folder)
    environment = json.loads((folder / ENVIRONMENT).read_text())
    text = "\n".join(_table(cells, environment)) + "\n"
    (folder / TABLE).write_text(text)
    _draw(cells, folder / PICTURE)
    return text


def _table(cells: Sequence[Mapping[str, Any]], environment: Mapping[str, Any]) -> Iterator[str]:
    idle = sum(environment["idle_link_bytes_per_s"].values())
    yield "# Does placement pay?"
    yield ""
    yield (
        f"Flink {environment['flink']}, two sites with a Pi each, a server in the cloud, "
        f"{environment['delay_ms']:g} ms one way. `make headline` writes this page again; "
        "[docs/testbed.md](../../docs/testbed.md) says how to measure anew, the method, and the "
        "measured version. "
        "Cores are medians of five windows or more, bytes and rates are means over all of them."
    )
    yield ""
    yield f"![sustained rate and WAN traffic]({PICTURE})"
    yield ""
    yield (
        "**Sustained**: records per second that each source can emit. **WAN**: bytes per second on "
        "all links, both directions, at one rate that all placements sustain; **latency** "
        "(p50 / p95) and **server** (cores) at that rate, too."
    )
    yield ""
    yield from _summary(cells)
    for workload in dict.fromkeys(cell["workload"] for cell in cells):
        yield ""
        yield f"## {workload}"
        yield ""
        yield "| Mbit/s | placement | sustained | predicted | WAN | predicted | latency | server |"
        yield "|---|---|---|---|---|---|---|---|"
        for cell in (c for c in cells if c["workload"] == workload):
            yield _row(cell, idle)
    yield ""
    yield "## edgeplace over the other placements"
    yield ""
    yield "| | placements | median | least | most |"
    yield "|---|---|---|---|---|"
    for name, figure in (("sustained rate", "sustained"), ("WAN at the same rate", "wan")):
        ratios = against_others(cells, figure)
        if ratios:
            middle = median(ratio for ratio, _ in ratios)
            ends = " | ".join(
                f"{ratio:.3g} ({_where(cell)})" for ratio, cell in (ratios[0], ratios[-1])
            )
            yield f"| {name} | {len(ratios)} | {middle:.3g} | {ends} |"
    yield ""
    repeated = sum(cell["rejected"] for cell in cells)
    yield (
        "Placements that were measured again, because this machine was busy with other work or the "
        f"job restarted at the common rate: {repeated}."
    )
    yield ""
    yield "## Errors of the predictions"
    yield ""
    yield "| | cells | median error | worst |"
    yield "|---|---|---|---|"
    found = errors(cells, idle)
    for name, each in (
        ("WAN bytes per second", found.wan),
        ("sustained rate", found.sustained),
        (
            "sustained rate, if cores were as fast as when costs were measured",
            found.sustained_at_speed_of_costs,
        ),
        (
            "worst path against p95 latency, no limit used beyond 70 %, jobs without windows",
            found.latency,
        ),
    ):
        if each:
            worst = max(each, key=lambda e: abs(e.relative))
            middle = median(abs(e.relative) for e in each)
            yield (
                f"| {name} | {len(each)} | {middle:.1%} "
                f"| {worst.relative:+.1%} ({_where(asdict(worst))}) |"
            )


def _where(cell: Mapping[str, Any]) -> str:
    return f"{cell['workload']}, {cell['mbit_per_s']:g} Mbit/s, {', '.join(cell['policies'])}"


def _summary(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one row for each job and WAN: the sustained rate and the bytes of each policy.

    The best rate is bold.
    """
    yield f"| job | Mbit/s | {' | '.join(POLICIES)} | WAN at one rate: all-server | edgeplace |"
    yield f"|---|---|{'---|' * len(POLICIES)}---|---|"
    for key in dict.fromkeys((c["workload"], c["mbit_per_s"]) for c in cells):
        own = {
            policy: c
            for c in cells
            if (c["workload"], c["mbit_per_s"]) == key
            for policy in c["policies"]
        }
        rates = _best_in_bold([own[policy]["full"] for policy in POLICIES])
        wan = [
            _short(own[policy]["steady"]["wan_bytes_per_s"]) + "B/s"
            for policy in ("all-server", EDGEPLACE)
        ]
        yield f"| {key[0]} | {key[1]:g} | {' | '.join([*rates, *wan])} |"


def _row(cell: Mapping[str, Any], idle: float) -> str:
    said, steady, full = cell["predicted"], cell["steady"], cell["full"]
    seen = steady["latency"]
    latency = f"{seen['p50_ms']:.0f} / {seen['p95_ms']:.0f} ms" if seen else "no result"
    server = steady["cores"]["server-1"]
    return (
        f"| {cell['mbit_per_s']:g} | {', '.join(cell['policies'])} "
        f"| {_sustained(full)} | {_short(said['sustained_per_subtask'])}/s "
        f"| {_short(steady['wan_bytes_per_s'])}B/s | {_short(said['wan_bytes_per_s'] + idle)}B/s "
        f"| {latency} | {server:.3f} |"
    )


def _best_in_bold(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the sustained rate of each policy.

    The highest is bold, and so are all that print alike.
    """
    shown = [_sustained(full) for full in found]
    best = shown[max(range(len(found)), key=lambda i: found[i]["per_subtask"])]
    return [f"**{text}**" if text == best else text for text in shown]


def _sustained(full: Mapping[str, Any]) -> str:
    least = "≥ " if _all_of_it(full) else ""
    return f"{least}{_short(full['per_subtask'])}/s"


def _short(value: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} "


def _draw(cells: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw sustained rate and traffic of each policy, relative to all-server."""
    import matplotlib  # This import is slow and needed only here.

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "edgeplace"
    from matplotlib import pyplot

    by_policy = {
        (c["workload"], c["mbit_per_s"], policy): c for c in cells for policy in c["policies"]
    }
    workloads = list(dict.fromkeys(c["workload"] for c in cells))
    rates = sorted({c["mbit_per_s"] for c in cells})
    figure, axes = pyplot.subplots(
        2, len(rates), figsize=(4.2 * len(rates), 0.36 * len(workloads) * 2 + 3.2), sharey=True
    )
    axes = axes.reshape(2, len(rates))
    titles = ("sustained rate", "WAN bytes/s at the same rate")
    for column, mbit in enumerate(rates):
        for row, title in enumerate(titles):
            axis = axes[row, column]
            for number, policy in enumerate(POLICIES):
                values = []
                for workload in workloads:
                    base, own = (by_policy.get((workload, mbit, p)) for p in ("all-server", policy))
                    values.append(_figure(own, row) / _figure(base, row) if own and base else 0)
                positions = [i + 0.2 * (number - 1.5) for i in range(len(workloads))]
                axis.barh(positions, values, 0.2, label=policy)
            axis.axvline(1, color="grey", linewidth=0.8)
            axis.set_title(f"{title}, {mbit:g} Mbit/s", fontsize=9)
            axis.set_xscale("log")
            axis.set_yticks(range(len(workloads)), workloads, fontsize=8)
            axis.tick_params(axis="x", labelsize=8)
    axes[0, 0].invert_yaxis()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(POLICIES), fontsize=9)
    figure.suptitle("relative to all-server")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


def _figure(cell: Mapping[str, Any], row: int) -> float:
    return float(cell["full"]["per_subtask"] if row == 0 else cell["steady"]["wan_bytes_per_s"])
