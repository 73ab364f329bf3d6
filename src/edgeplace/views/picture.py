"""The job and the sites as a picture of characters."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from edgeplace.cli.console import Console, visible
from edgeplace.cli.quantities import counted, percent
from edgeplace.model import Cluster, Evaluation, JobGraph, Plan, RateUnit

_BAR = 10
_BOX = 44
_FRAME = 4
"""Columns of a box that its frame takes; its title loses as many again."""
_MOST_NODES = 12
_WIDEST = 200


def show_job(console: Console, job: JobGraph) -> None:
    """Print the streams of a job, one path on each line."""
    outputs: dict[str, list[int]] = {}
    for i, s in enumerate(job.streams):
        outputs.setdefault(s.source, []).append(i)
    drawn: set[int] = set()
    name = {op.id: f"{visible(op.name)} x{op.parallelism}" for op in job.operators}
    starts = [op.id for op in job.sources()]
    while starts:
        at = starts.pop(0)
        line = Text(name[at], style="bold cyan")
        while left := [i for i in outputs.get(at, ()) if i not in drawn]:
            drawn.add(left[0])
            if len(left) > 1:
                starts.insert(0, at)
            s = job.streams[left[0]]
            line.append(f" --{s.ship_strategy.value}-> ", style="dim")
            line.append(name[s.target], style="bold")
            at = s.target
        console.line(line)


def show_sites(
    console: Console,
    jobs: Sequence[JobGraph],
    cluster: Cluster,
    plan: Plan | None = None,
    found: Evaluation | None = None,
) -> None:
    """Print each site as a box of its nodes with the operators there, and the links between."""
    boxes = Columns(_boxes(jobs, cluster, plan, found), padding=(0, 1))
    console.out.print(boxes, width=min(console.out.width, _WIDEST))
    used = {a.where: a for a in found.links} if found else {}
    for link in cluster.directed_links():
        name = f"{link.source} -> {link.target}"
        room = link.bandwidth_bytes_per_s
        line = Text(f"  {name}: ")
        if name in used:
            now = used[name]
            line.append(cluster.rates_in.text(now.used), style="bold")
            if now.capacity is not None:
                share = now.utilisation
                style = "red" if share > 1 else "green"
                line.append(f" {_bar(share)} {percent(share)} of what plans may use", style=style)
        if room is not None:
            line.append(f"   ({RateUnit.BITS.text(room)}, ", style="dim")
            line.append(f"{link.delay_ms:g} ms)", style="dim")
        console.line(line)


def _boxes(
    jobs: Sequence[JobGraph], cluster: Cluster, plan: Plan | None, found: Evaluation | None
) -> list[RenderableType]:
    at: dict[str, list[str]] = {}
    if plan:
        for job in jobs:
            for op in job.operators:
                for tm in dict.fromkeys(plan.of(job.name)[op.id]):
                    n = plan.of(job.name)[op.id].count(tm)
                    at.setdefault(tm, []).append(visible(f"{op.name} x{n}" if n > 1 else op.name))
    cores = {n.where: n for n in found.nodes} if found else {}
    slots = {t.where: t for t in found.task_managers} if found else {}
    boxes: list[tuple[str, list[Text]]] = []
    for site in cluster.sites:
        nodes = [n for n in cluster.nodes if n.site == site.id]
        lines: list[Text] = []
        for node in nodes[:_MOST_NODES]:
            head = Text(node.id, style="bold")
            if node.id in cores:
                head.append(f" cpu {_bar(cores[node.id].utilisation)}", style="green")
            lines.append(head)
            for there in (t for t in cluster.task_managers if t.node == node.id):
                inside = Text("  ")
                if there.id in slots:
                    inside.append(
                        f"{slots[there.id].used:.0f}/{counted(there.slots, 'slots')}  ", style="dim"
                    )
                else:
                    inside.append(
                        f"{counted(there.slots, 'slots')}, {counted(node.cores, 'cores')}",
                        style="dim",
                    )
                inside.append(", ".join(at.get(there.id, [])))
                lines.append(inside)
        if len(nodes) > _MOST_NODES:
            lines.append(Text(f"and {len(nodes) - _MOST_NODES} more nodes"))
        boxes.append((f"{site.id} ({site.tier})", lines))
    # No word is broken.
    words = [w for _, lines in boxes for line in lines for w in line.plain.split()]
    needed = [_FRAME + cell_len(w) for w in words]
    needed += [2 * _FRAME + cell_len(title) for title, _ in boxes]
    width = max([_BOX, *needed])
    return [
        Panel(Group(*own), title=title, title_align="left", width=width) for title, own in boxes
    ]


def _bar(share: float) -> str:
    full = min(_BAR, round(share * _BAR))
    return "[" + "#" * full + "." * (_BAR - full) + "]"
