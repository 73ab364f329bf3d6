"""Hold a cure against the document: with it a plan exists, and without any part of it none does."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from edgeplace.model import Change, Plan
from tests.conformance.document_truth import Truth
from tests.conformance.parsed import Parsed
from tests.support.cures import with_changes

Holds = Callable[[Parsed, Plan], bool]


def cure_differences(
    parsed: Parsed, conflict: dict[str, Any], holds: Holds
) -> Iterator[tuple[str, str]]:
    """Yield what is false of the cure of an instance that has no plan.

    Parameters
    ----------
    conflict
        Of the answer, as plain data.
    holds
        Whether a plan holds, where a limit is used to the last billionth.
    """
    changes = [Change.model_validate(c) for c in conflict["changes"]]
    if not conflict["confirmed"] or len(parsed.jobs) > 1:
        return
    if not _helps(parsed, changes, holds):
        yield "cure", f"no plan exists with {conflict['cure']}"
    # A faster thread is a matter of a node; as data there is only a faster operator.
    if not conflict["minimal"] or any(c.kind == "subtask busy" for c in changes):
        return
    for out in changes:
        if _helps(parsed, [c for c in changes if c is not out], holds):
            yield "cure not minimal", f"{out.where} is not needed of {conflict['cure']}"


def _helps(parsed: Parsed, changes: Sequence[Change], holds: Holds) -> bool:
    (job,) = parsed.jobs
    now = parsed.current.jobs.get(job.name) if parsed.current else None
    job, cluster, rules = with_changes(job, parsed.cluster, parsed.rules, changes, now)
    changed = Parsed([job], cluster, rules, parsed.current, parsed.objective)
    levels = [(v.name, v.tolerance) for v in parsed.objective]
    return Truth(changed.document(), levels, lambda plan: holds(changed, plan)).any_plan
