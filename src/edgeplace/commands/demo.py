"""`edgeplace demo`: all steps from a recorded metric log to a proven plan."""

import argparse

from edgeplace.adapters.flink import load_job, schedulercfg
from edgeplace.case.files import placed
from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.cli.outcome import status_of
from edgeplace.cli.quantities import count
from edgeplace.instances import path
from edgeplace.model import Cluster, Rules, read
from edgeplace.views.picture import show_job, show_sites
from edgeplace.views.tables import show_costs, show_policies, show_proof
from edgeplace.views.terms import Terms

LOADS = ("edgeplace.solver",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the help; the command has no arguments."""
    parser.description = (
        "Measure a job recorded on a real Flink, place it on Pis at two sites and a "
        "server, and show what was decided and why."
    )


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Show the recorded job, measure it, place it, and explain the plan."""
    console.text("edgeplace demo: a job recorded on a real Flink, placed on Pis and a server")
    # Loaded behind the first line, so that it comes at once.
    from edgeplace.solver import policies, site_kinds, solve, why, why_by_kind
    from edgeplace.spark_stats import measure
    from edgeplace.views.kind_reasons import chained, show_kind_reasons
    from edgeplace.views.reasons import show_reasons

    log = path("demo/metrics.jsonl.gz")
    cluster = read(path("demo/cluster.yaml"), Cluster)
    rules = read(path("demo/rules.yaml"), Rules)
    job, seen = load_job(log)
    current = placed(job, cluster, seen)

    console.heading("1. the job and the sites")
    show_job(console, job)
    show_sites(console, [job], cluster)
    for rule in rules.rules:
        console.text(f"  rule: {rule.title()}")

    console.heading("2. measure: what each operator costs, from the metric log")
    with console.progress("reading the log") as report:
        measured = measure([log], cluster, progress=report)
    values = sum(measured.samples.values.values())
    console.text(f"  {count(values)} metric values in {log.name}")
    show_costs(console, measured.costs)

    console.heading("3. decide: fewest WAN bytes, then latency, server cores, moves")
    job = job.with_costs(measured.costs)
    with console.progress("searching") as tell:
        result = solve(job, cluster, rules, current=current, progress=tell)
    others = [(p.name, p.evaluation) for p in policies(job, cluster, rules, current)]
    if result.plan is None or result.evaluation is None:
        raise RuntimeError("the shipped demo has a plan")
    terms = Terms.of(cluster)
    show_policies(console, [("edgeplace", result.evaluation), *others], terms)
    show_proof(console, result, terms)
    show_sites(console, [job], cluster, result.plan, result.evaluation)

    by_kind = why_by_kind(job, cluster, result.plan, rules, current)
    show_kind_reasons(console, by_kind, terms)
    console.heading("why each operator is where it is")
    kinds = site_kinds([job], cluster, result.plan)
    reasons = why(job, cluster, result.plan, rules, current)
    show_reasons(console, reasons, kinds, chained(by_kind, terms), terms)
    console.notes(result.notes)

    console.heading("4. apply: the schedulercfg")
    console.text(schedulercfg.render(result.plan.of(job.name), job, cluster).rstrip())
    console.text(f"\nthe demo's files: {log.parent}")
    console.text("next: edgeplace init, in a folder of your own, begins your own case")
    return status_of(result)
