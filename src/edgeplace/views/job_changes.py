"""Advice on changes to a job as text: combining, key groups, sources that jobs share."""

from collections.abc import Iterator, Sequence

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import percent
from edgeplace.model import Case, Plan
from edgeplace.solver import Combining, CombiningVerdict, SharedSource, Skew
from edgeplace.solver.clock import unhurried
from edgeplace.views.terms import Terms

Change = Combining | Skew | SharedSource
HEADING = "changes to the job, none of which is made"


def job_changes(case: Case, plan: Plan) -> tuple[Change, ...]:
    """Return all advice on changes to the jobs of a plan."""
    from edgeplace.solver import combining, shared_sources, skews

    with unhurried():
        return (
            *combining(case.jobs, case.cluster, plan),
            *skews(case.jobs),
            *shared_sources(case.jobs, case.cluster, plan),
        )


def show_job_changes(console: Console, found: Sequence[Change], terms: Terms) -> None:
    """Print advice under a heading of its own; nothing without advice."""
    if not found:
        return
    console.heading(HEADING)
    for change in found:
        first, *rest = said(change, terms)
        console.text(first)
        for line in rest:
            console.text(f"    {line}")


def worth_making(found: Sequence[Change]) -> list[Change]:
    """Return the changes that would save bytes; the others say why they do not, or what lacks."""
    return [
        c
        for c in found
        if isinstance(c, SharedSource)
        or (isinstance(c, Combining) and c.verdict is CombiningVerdict.COMBINE)
    ]


def said(change: Change, terms: Terms) -> list[str]:
    """Return a piece of advice: a sentence, then the lines to write into the job."""
    match change:
        case Combining():
            return list(_combining(change, terms))
        case Skew():
            return [_skew(change)]
        case SharedSource():
            return list(_shared(change, terms))


def _combining(found: Combining, terms: Terms) -> Iterator[str]:
    stream = f"{found.source} -> {found.target}"
    now = terms.rate(found.wan_bytes_per_s)
    match found.verdict:
        case CombiningVerdict.COMBINED:
            yield f"{stream} sends {now} over the WAN: {found.lever.condition}"
        case CombiningVerdict.WHOLE:
            yield f"{stream} sends {now} over the WAN: {found.lever.condition}"
        case CombiningVerdict.UNKNOWN:
            yield (
                f"{stream} sends {now} over the WAN; what a partial aggregate before it would send "
                f"is not known, it takes: {'; '.join(found.missing)}"
            )
        case CombiningVerdict.RAW | CombiningVerdict.COMBINE:
            then = terms.rate(found.partial_wan_bytes_per_s or 0.0)
            every = f" each {found.every_s:g} s" if found.every_s else ""
            origin = f"keys: {found.known_from}"
            if found.verdict is CombiningVerdict.RAW:
                yield (
                    f"{stream}: leave it raw, it sends {now} over the WAN; a partial aggregate "
                    f"before it would send {then}{every} ({origin})"
                )
                return
            yield (
                f"{stream}: a partial aggregate before it would send {then} over the WAN{every} "
                f"instead of {now} ({origin}; its processor time is not counted). "
                f"By {found.lever.kind.value}, {found.lever.condition}:"
            )
            yield from found.lever.lines


def _skew(found: Skew) -> str:
    by = "measured" if found.measured else "by key groups"
    text = (
        f"{found.operator}: the fullest of {found.parallelism} subtasks gets "
        f"{percent(found.fullest - 1)} more than the mean ({by})"
    )
    if found.better is not None and found.better_fullest is not None:
        text += (
            f"; with parallelism {found.better} key groups would make it "
            f"{percent(found.better_fullest - 1)}, not {percent(found.of_groups - 1)}"
        )
    if found.measured and found.fullest > found.of_groups * 1.05:
        text += (
            f"; groups explain {percent(found.of_groups - 1)}, the rest are hot keys or groups, "
            "which another parallelism may not even"
        )
    return text


def _shared(found: SharedSource, terms: Terms) -> Iterator[str]:
    yield (
        f"{found.source} is read by {len(found.jobs)} jobs ({', '.join(found.jobs)}) and crosses "
        f"the WAN with {terms.rate(found.wan_bytes_per_s)}; one job for all could send "
        f"{terms.rate(found.once_wan_bytes_per_s)}, if the records are the same and one operator "
        "takes them over the link for all readers. In SQL, a statement set:"
    )
    yield from found.lines
