"""`edgeplace control status`: what the loop sees, what it decided last, and what hinders it."""

import argparse
import time
from typing import TYPE_CHECKING

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import EXIT_CODES, ExitStatus
from edgeplace.cli.quantities import count, percent
from edgeplace.control.amounts import amount

if TYPE_CHECKING:
    from edgeplace.control.loop.memory import Memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, and what its help says."""
    parser.description = (
        "Show what the loop of a control file sees, what it decided last and why, and what "
        "it proposes. Ends with 0 if all is well, 8 if Flink gives no answers, 9 if no loop runs "
        "or something hinders a change."
    )
    parser.epilog = EXIT_CODES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("control", metavar="CONTROL", help="control file")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace, console: Console) -> ExitStatus:
    """Show it."""
    from edgeplace.commands.control.running.driver import read_files
    from edgeplace.control.loop.journal_file import led, remembered

    files = read_files(args.control)
    memory, _ = remembered(files.folder)
    leads = led(files.folder)
    facts = _facts(memory, leads)
    if args.json:
        console.json(facts)
    else:
        rows = [(name.replace("_", " "), str(value)) for name, value in facts.items() if value]
        console.table(("", ""), rows)
        if memory.proposal is not None:
            console.text()
            words = ["edgeplace", "control", "explain", args.control, memory.proposal.id]
            console.command("why: ", words)
    if not leads or memory.fallen:
        return ExitStatus.HINDERED
    if memory.blind:
        return ExitStatus.UNREACHABLE
    hindered = memory.proposal is not None and memory.proposal.hindered
    return ExitStatus.HINDERED if hindered else ExitStatus.OK


def _facts(memory: "Memory", leads: bool) -> dict[str, object]:
    from edgeplace.control.loop.guard import held_now, load_of, rates_now

    rates = rates_now(memory.recent)
    load = load_of(memory, rates)
    proposal, change = memory.proposal, memory.change
    return {
        "loop": f"leads, epoch {memory.epoch}" if leads else "no loop runs",
        "last_line": f"{memory.lines:,}, {max(0.0, time.time() - memory.now_s):.0f} s ago"
        if memory.lines
        else "none yet",
        "mode": memory.mode,
        "only_recommends": memory.fallen,
        "sees": memory.blind or f"job {memory.job_id} runs",
        "rate": f"{count(sum(rates.values()))} records/s" if rates else "",
        "load": f"{percent(load)} of what runs sustains" if load is not None else "",
        "held_back": percent(held_now(memory.recent)) if rates else "",
        "others": memory.others,
        "lost_sites": ", ".join(memory.lost),
        "kept_out": ", ".join(memory.kept_out),
        "ready_for_loss_of": ", ".join(s for s, p in memory.loss_plans.items() if not p.problem),
        "costs": _costs(memory),
        "decision": memory.decision or _not_yet(memory),
        "machines": "; ".join(advice.says for advice in memory.advice),
        "staying_has_cost": amount(memory.regret, memory.currency) if memory.regret else "",
        "a_change_costs": amount(memory.price, memory.currency) if memory.price else "",
        "proposed": f"{proposal.id}: {proposal.acts}, {proposal.why}" if proposal else "",
        "hindered_by": "; ".join(proposal.hindered) if proposal else "",
        "change": f"{change.id} ({change.kind}) is open" if change else "",
        "changes_today": f"{len(memory.voluntary)} voluntary, {len(memory.urgent)} urgent"
        if memory.voluntary or memory.urgent
        else "",
    }


def _not_yet(memory: "Memory") -> str:
    from edgeplace.control.loop.guard import waits_s

    left_s = waits_s(memory)
    if left_s > 0:
        return f"none yet: the job has just started, {left_s:.0f} s of settle_s remain"
    return "none yet"


def _costs(memory: "Memory") -> str:
    age_s = memory.costs_age_s
    told = [
        f"{age_s / 3600:.1f} hours old" if age_s is not None else "",
        "of the loop's own log" if memory.measured else "",
        f"not measured: {memory.not_measured}" if memory.not_measured else "",
    ]
    return ", ".join(text for text in told if text)
