"""Costs from real logs, against figures that were worked out apart from this code.

    python benchmarks/real_logs.py DIR

DIR holds `bu/` (metrics JSON lines of a run on Raspberry Pis, from the flink-placement project),
`flink_samples/` (answers and a reporter's log of one job on Flink 2.3) and `capsys/` (profiles from
the CAPSys project). None of them is part of edgeplace.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeplace.model import (
    Cluster,
    JobGraph,
    Node,
    Operator,
    Pin,
    Plan,
    Rules,
    ShipStrategy,
    Site,
    Stream,
)
from edgeplace.model.cost import Costs, OperatorCost, StreamCost
from edgeplace.solver import evaluate, policies, solve
from edgeplace.spark_stats import measure


@dataclass(frozen=True)
class Check:
    """One figure against its target."""

    what: str
    got: str
    target: str
    passed: bool


def close(what: str, got: float | None, target: float, tolerance: float) -> Check:
    """Compare a figure with its target."""
    return Check(
        what,
        "none" if got is None else f"{got:,.6g}",
        f"{target:,.6g} ± {tolerance:,.3g}",
        got is not None and abs(got - target) <= tolerance,
    )


def holds(what: str, got: object, passed: bool, target: str) -> Check:
    """Check a statement."""
    return Check(what, str(got), target, passed)


def operator(costs: Costs, name: str, job: JobGraph | None = None) -> OperatorCost:
    """Return the cost of an operator by its name."""
    wanted = {name} | ({o.id for o in job.operators if o.name == name} if job else set())
    return next(o for o in costs.operators if o.operator in wanted)


# --- The seed project's run on Raspberry Pis


def seed_log(folder: Path) -> list[Check]:
    """Filter on four Pis behind 500 kbit/s, 70 % of the records kept, 22 minutes."""
    cluster = Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(
            Node(id="pis", site="edge", node_class="pi", cores=16),
            Node(id="server", site="cloud", node_class="server", cores=16),
        ),
        task_managers=(
            {"id": "pis", "node": "pis", "slots": 4},
            {"id": "server", "node": "server", "slots": 15},
        ),
    )
    server = "server"
    placement = {
        "Source: SourceBid": (server,) * 4,
        "Source: ChoiceSource": (server,),
        "Co-Process": (server,) * 4,
        "EventsFilter": (server,) * 4 + ("pis",) * 4,
        "DummyLatencySink": (server,) * 2,
    }
    measured = measure(sorted(folder.glob("metrics_*.jsonl")), cluster, placement=placement)
    found = operator(measured.costs, "EventsFilter")
    on_pi = found.on("pi")
    by_quarter = on_pi.by_quarter_per_s if on_pi else ()
    checks = [
        close("filter: selectivity", found.selectivity, 0.70, 0.01),
        close("filter: records per busy second", on_pi.true_rate_per_s if on_pi else None, 769, 8),
        holds(
            "filter: the rate drifts",
            ", ".join("idle" if q is None else f"{q:,.0f}" for q in by_quarter),
            on_pi is not None and not on_pi.stationary,
            "not stationary",
        ),
        holds("filter: idle on the server", found.on("server"), not found.on("server"), "no rate"),
        close("NaN accounted for", measured.samples.not_a_number, 1235, 0),
        close("Infinity accounted for", measured.samples.infinite, 541, 0),
    ]
    checks += [
        close(f"filter: quarter {i + 1}", got, target, 0.05 * target)
        for i, (got, target) in enumerate(zip(by_quarter, (1536, 1308, 799, 392), strict=True))
    ]
    missing = {"bytes", "state", "counters"}
    checks.append(
        holds("not in this log", found.not_in_log, missing <= set(found.not_in_log), str(missing))
    )
    return checks


# --- Answers and a reporter's log of one job on Flink 2.3


def wrapped(folder: Path, place: Path) -> Path:
    """Write the answers of a folder as a canonical log."""
    job = json.loads((folder / "job_detail.json").read_text())
    jid, now = job["jid"], job["now"]
    paths = {
        "job_detail": f"/jobs/{jid}",
        "job_plan": f"/jobs/{jid}/plan",
        "config": "/config",
        "checkpoints_config": f"/jobs/{jid}/checkpoints/config",
        "checkpoints": f"/jobs/{jid}/checkpoints",
        "jobmanager_config": "/jobmanager/config",
        "taskmanagers": "/taskmanagers",
    }
    for vertex in job["vertices"]:
        short = re.sub(r"\W+", "_", vertex["name"])
        at = f"/jobs/{jid}/vertices/{vertex['id']}"
        paths[f"vertex_{short}"] = at
        paths[f"vertex_{short}_metrics_per_subtask"] = f"{at}/metrics"
        number = json.loads((folder / f"checkpoint_{short}_subtasks.json").read_text())["id"]
        paths[f"checkpoint_{short}_subtasks"] = (
            f"/jobs/{jid}/checkpoints/details/{number}/subtasks/{vertex['id']}"
        )
    with place.open("w") as out:
        for name, path in paths.items():
            answer = json.loads((folder / f"{name}.json").read_text())
            out.write(json.dumps(line(now, path, answer)) + "\n")
    return place


def line(ts_ms: int, path: str, answer: object) -> dict[str, object]:
    """Return a line of the canonical log."""
    return {"edgeplace_log": 1, "ts_ms": ts_ms, "path": path, "answer": answer}


def job_of_answers(folder: Path) -> JobGraph:
    """Return the job graph that the answers describe."""
    job = json.loads((folder / "job_detail.json").read_text())
    plan = json.loads((folder / "job_plan.json").read_text())["plan"]
    return JobGraph(
        name=job["name"],
        job_id=job["jid"],
        operators=tuple(
            Operator(id=v["id"], name=v["name"], parallelism=v["parallelism"])
            for v in job["vertices"]
        ),
        streams=tuple(
            Stream(
                source=given["id"],
                target=node["id"],
                ship_strategy=ShipStrategy(given["ship_strategy"]),
            )
            for node in plan["nodes"]
            for given in node.get("inputs", ())
        ),
    )


def flink_samples(folder: Path, scratch: Path) -> list[Check]:
    """State and checkpoints from answers, rates and bytes from a reporter's log."""
    job = job_of_answers(folder)
    answers = measure([wrapped(folder, scratch / "answers.jsonl")], None).costs
    checks = [
        close(f"{name}: {what}", getattr(operator(answers, name, job), what), target, 0)
        for name, what, target in (
            ("agg", "state_bytes", 164005),
            ("agg", "checkpointed_bytes", 164005),
            ("Source: src", "state_bytes", 530),
        )
    ]
    checks += [
        close("checkpoint interval, ms", answers.checkpoint_interval_ms, 3000, 0),
        holds(
            "state backend", answers.state_backend, answers.state_backend == "rocksdb", "rocksdb"
        ),
    ]
    report = folder / "slf4j_reporter_tm_pi1.log"
    seconds = span_s(report)
    costs = measure([report], None, job=job).costs
    source, mapped = operator(costs, "Source: src", job), operator(costs, "map", job)
    emitted = source.demand.rates_per_s[0] if source.demand else None
    expected = moved(report, "Source: src.0.numRecordsOut")
    checks.append(
        close("source: records/s", emitted, expected / seconds, 0.01 * expected / seconds)
    )
    expected = moved(report, "map.0.numRecordsIn") / moved(report, "map.0.accumulateBusyTimeMs")
    rate = mapped.classes[0].true_rate_per_s
    checks.append(close("map: records per busy second", rate, 1000 * expected, 10 * expected))
    stream = next(s for s in costs.streams if s.target == mapped.operator)
    for where, got in (("Local", stream.local_bytes_per_s), ("Remote", stream.remote_bytes_per_s)):
        expected = moved(report, f"map.0.Shuffle.Netty.Input.numBytesIn{where}") / seconds
        checks.append(close(f"map: {where.lower()} bytes/s", got, expected, 0.01 * expected))
    return checks + checkpoint_traffic(job, answers, folder)


def checkpoint_traffic(job: JobGraph, costs: Costs, folder: Path) -> list[Check]:
    """Checkpoints of state kept at the edge cross the WAN to their storage in the cloud."""
    detail = json.loads((folder / "job_detail.json").read_text())
    totals = {v["id"]: v["metrics"] for v in detail["vertices"]}
    seconds = detail["duration"] / 1000
    # One snapshot holds no differences: what flows is averaged over the job's 41 seconds.
    streams = tuple(
        s.model_copy(
            update={
                "cost": StreamCost(
                    source=s.source,
                    target=s.target,
                    selectivity=_ratio(
                        totals[s.target]["read-records"],
                        totals[s.source]["read-records"] or totals[s.source]["write-records"],
                    ),
                    bytes_per_record=_ratio(
                        totals[s.target]["read-bytes"], totals[s.target]["read-records"]
                    ),
                )
            }
        )
        for s in job.streams
    )
    job = job.with_costs(costs).revised(streams=streams)
    source = job.sources()[0]
    job = job.with_source_rate(source.id, totals[source.id]["write-records"] / seconds)
    cluster = Cluster(
        sites=(Site(id="edge"), Site(id="cloud", tier="cloud")),
        nodes=(Node(id="pi", site="edge", cores=4), Node(id="server", site="cloud", cores=8)),
        task_managers=(
            {"id": "pi", "node": "pi", "slots": 16},
            {"id": "server", "node": "server", "slots": 16},
        ),
        links=({"source": "edge", "target": "cloud", "both_ways": True},),
        checkpoint_storage="cloud",
    )
    at_edge = {"Source: src", "map", "filter", "agg"}
    plan = Plan(
        jobs={
            job.name: {
                o.id: ("pi" if o.name in at_edge else "server",) * o.parallelism
                for o in job.operators
            }
        }
    )
    job = job.revised(
        operators=tuple(
            o.model_copy(update={"born_at": ("edge",)}) if o.id == source.id else o
            for o in job.operators
        )
    )
    found = evaluate(job, cluster, plan)
    written = sum(o.checkpointed_bytes or 0 for o in costs.operators if _name(job, o) in at_edge)
    return [
        close("WAN: checkpoint bytes/s", found.checkpoint_bytes_per_s, written / 3, 1),
        holds(
            "WAN: they are in the figure",
            f"{found.wan_bytes_per_s:,.0f} bytes/s, raw source "
            f"{totals[source.id]['write-bytes'] / seconds:,.0f}",
            found.wan_bytes_per_s > found.checkpoint_bytes_per_s > 0,
            "records and checkpoints",
        ),
    ]


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def _name(job: JobGraph, cost: OperatorCost) -> str:
    return job.operator(cost.operator).name


def span_s(report: Path) -> float:
    """Return the seconds between the first and the last report that have counters."""
    times = re.findall(
        r"^\S+ (\d\d):(\d\d):(\d\d),(\d{3}) [^\n]*Slf4jReporter[^\n]*\n"
        r"=+ Starting[^\n]*\n\n-- Counters",
        report.read_text(),
        re.MULTILINE,
    )
    at = [int(h) * 3600 + int(m) * 60 + int(s) + int(ms) / 1000 for h, m, s, ms in times]
    return at[-1] - at[0]


def moved(report: Path, metric: str) -> float:
    """Return how far a metric moved from the first report to the last."""
    found = re.findall(rf"\.{re.escape(metric)}: (\S+)", report.read_text())
    return float(found[-1]) - float(found[0])


# --- A profile of an image pipeline


def capsys_log(profile: Path, place: Path, sample_s: float = 5.0) -> Path:
    """Write a CAPSys profile as a canonical log: rates, summed up, become counters."""
    nodes = json.loads(profile.read_text())["nodes"]
    with place.open("w") as out:
        for answer in _capsys_answers(nodes, sample_s):
            out.write(json.dumps(answer) + "\n")
    return place


_COUNTED = {
    "_oip": "numRecordsIn",
    "_oop": "numRecordsOut",
    "_oib": "numBytesIn",
    "_oob": "numBytesOut",
}
_GAUGED = {"_busytime": "busyTimeMsPerSecond", "_bkpstime": "backPressuredTimeMsPerSecond"}


def _capsys_answers(nodes: list[dict[str, Any]], sample_s: float) -> Iterator[dict[str, object]]:
    by_id = {n["id"]: n for n in nodes}
    plan = [
        {
            "id": n["id"],
            "inputs": [{"id": i, "ship_strategy": by_id[i]["outboundtype"]} for i in n["innodes"]],
        }
        for n in nodes
    ]
    vertices = [{k: n[k] for k in ("id", "name", "parallelism")} for n in nodes]
    yield line(0, "/jobs/profile", {"name": "profile", "vertices": vertices})
    yield line(0, "/jobs/profile/plan", {"plan": {"name": "profile", "nodes": plan}})
    for node in nodes:
        counters: dict[str, float] = {}
        for i, [sample] in enumerate(node["_pertask"]):
            values = []
            for key, metric in _COUNTED.items():
                for subtask, rate in enumerate(sample[key]):
                    name = f"{subtask}.{metric}"
                    counters[name] = counters.get(name, 0.0) + rate * sample_s
                    values.append({"id": name, "value": str(counters[name])})
            for key, metric in _GAUGED.items():
                for subtask, value in enumerate(sample[key]):
                    values.append({"id": f"{subtask}.{metric}", "value": str(value)})
            at = f"/jobs/profile/vertices/{node['id']}/metrics"
            yield line(int(1000 * sample_s * i), at, values)


def capsys_profile(folder: Path, scratch: Path) -> list[Check]:
    """Records stay as many and shrink: what a rule on records cannot see."""
    profile = next(folder.glob("profiles/cloudlab_profile__q3-inf-*.json"))
    measured = measure([capsys_log(profile, scratch / "profile.jsonl")], None)
    names = {n["id"]: n["name"] for n in json.loads(profile.read_text())["nodes"]}

    def into(name: str) -> StreamCost:
        return next(s for s in measured.costs.streams if names[s.target] == name)

    checks = []
    for name, per_record, tolerance in (
        ("Q3_Transform", 82000, 820),
        ("Q3_Compress", 82000, 820),
        ("Q3_Inference", 3950, 40),
        ("Q3_Sink", 115, 5),
    ):
        stream = into(name)
        checks.append(
            close(f"into {name}: bytes per record", stream.bytes_per_record, per_record, tolerance)
        )
        checks.append(close(f"into {name}: selectivity", stream.selectivity, 1.0, 0.05))
    source = next(o for o in measured.costs.operators if names[o.operator].startswith("Source"))
    demand = source.demand
    share = demand.back_pressured_share if demand else None
    checks.append(close("source: back pressured share", share, 0.69, 0.01))
    throttled = demand is not None and demand.throttled
    checks.append(holds("source: demand is a lower bound", throttled, throttled, "throttled"))
    return checks + image_plans(profile, measured.costs)


def image_plans(profile: Path, costs: Costs) -> list[Check]:
    """Place the pipeline: images are born at a farm; four Pis there, fast enough or not."""
    nodes = json.loads(profile.read_text())["nodes"]
    by_id = {n["id"]: n for n in nodes}
    names = {n["id"]: n["name"] for n in nodes}
    rules = Rules(rules=(Pin(operators=("Q3_Sink",), to="cloud"),))
    job = JobGraph(
        name="images",
        operators=tuple(
            Operator(
                id=n["id"],
                name=n["name"],
                parallelism=n["parallelism"],
                slot_sharing_group=n["name"],
                born_at=() if n["innodes"] else ("farm",),
            )
            for n in nodes
        ),
        streams=tuple(
            Stream(source=i, target=n["id"], ship_strategy=ShipStrategy(by_id[i]["outboundtype"]))
            for n in nodes
            for i in n["innodes"]
        ),
    ).with_costs(costs)
    checks = []
    for kind, speed in (("fast", 1.0), ("slow", 0.05)):
        result = solve(job, farm(speed), rules)
        if result.plan is None:
            checks.append(holds(f"{kind} Pis: a plan", result.conflict, False, "a plan"))
            continue
        placed = result.plan.of(job.name)
        for name in ("Q3_Compress", "Q3_Inference"):
            sites = {
                "farm" if tm.startswith("pi") else "cloud"
                for op, tms in placed.items()
                if names[op] == name
                for tm in tms
            }
            wanted = {"farm"} if kind == "fast" else {"cloud"}
            checks.append(
                holds(f"{kind} Pis: {name} runs at", ", ".join(sites), sites == wanted, str(wanted))
            )
        wan = {p.name: p.evaluation.wan_bytes_per_s for p in policies(job, farm(speed), rules)}
        assert result.evaluation is not None
        got = result.evaluation.wan_bytes_per_s
        checks.append(
            holds(
                f"{kind} Pis: WAN, all-server",
                f"{got:,.0f}, {wan['all-server']:,.0f} bytes/s",
                got <= wan["all-server"],
                "no more than all-server",
            )
        )
        said = any("lower bound of demand" in n for n in result.notes)
        checks.append(holds(f"{kind} Pis: the plan says throttled", said, said, "said"))
    return checks


def farm(speed: float) -> Cluster:
    """Return four Pis at a farm, at a share of the profiled machine's speed, and a server."""
    pis = tuple(
        {"id": f"pi-{i}", "site": "farm", "node_class": "pi", "cores": 16, "slots": 16}
        for i in range(4)
    )
    server = {"id": "server", "site": "cloud", "cores": 64, "slots": 64}
    return Cluster(
        sites=(Site(id="farm"), Site(id="cloud", tier="cloud")),
        nodes=(*pis, server),
        links=({"source": "farm", "target": "cloud", "delay_ms": 25, "both_ways": True},),
        node_classes=({"id": "pi", "speed": speed}, {"id": "default", "speed": 1.0}),
        # Images of 82 kB: the default credit window would bind first.
        floating_buffers_per_gate=4096,
    )


def main(folder: Path) -> int:
    """Print the table; return 1 if a figure misses its target."""
    with tempfile.TemporaryDirectory() as scratch:
        parts: dict[str, Callable[[], list[Check]]] = {
            "Raspberry Pi run of the seed project": lambda: seed_log(folder / "bu"),
            "Flink 2.3 samples": lambda: flink_samples(folder / "flink_samples", Path(scratch)),
            "CAPSys image pipeline": lambda: capsys_profile(folder / "capsys", Path(scratch)),
        }
        failed = 0
        for title, part in parts.items():
            print(f"\n{title}")
            for check in part():
                failed += not check.passed
                mark = "PASS" if check.passed else "FAIL"
                print(f"  {mark}  {check.what:<36} {check.got:<30} target {check.target}")
    print(f"\n{failed} of the figures miss their target" if failed else "\nall figures hold")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
