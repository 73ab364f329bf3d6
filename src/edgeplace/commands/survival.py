"""`survive` of rules and of `edgeplace solve`: whether a plan exists after the loss of sites."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.variations import (
    Variation,
    loss_table,
    losses,
    plain,
    show,
    solved_variation,
)
from edgeplace.model import (
    ANY_SITE,
    Case,
    InvalidInputError,
    Result,
    Status,
    StoppedBy,
    did_you_mean,
    some,
)

Rows = list[tuple[Variation, Result | None]]


def patterns(case: Case, args: argparse.Namespace) -> list[str]:
    """Return the patterns of the sites that `--survive` names, and `survive` of the rules.

    Raises
    ------
    InvalidInputError
        If one of them fits no site, or the jobs are changed, too.
    """
    sites = [s.id for s in case.cluster.sites]
    ruled = case.rules.survive if case.rules else ()
    found: dict[str, None] = {}
    for where, pattern in [
        *(("--survive", p) for p in args.survive),
        *(("survive", p) for p in ruled),
    ]:
        found["*" if pattern == ANY_SITE else pattern] = None
        if pattern != ANY_SITE and not any(fnmatchcase(site, pattern) for site in sites):
            raise InvalidInputError(
                f"{where} {pattern}: no site is named so",
                did_you_mean(
                    pattern,
                    [*sites, ANY_SITE],
                    f"the sites are {some(sites)}; {ANY_SITE} stands for all",
                ),
            )
    if found and (args.split or args.parallelism):
        raise InvalidInputError(
            "survive solves without some sites, and --split and --parallelism change the jobs",
            "choose these first, and ask for survival with what was chosen",
        )
    return list(found)


def survival(
    case: Case, now: Result, named: Sequence[str], args: argparse.Namespace, console: Console
) -> Rows:
    """Solve without each site that fits a pattern in turn, until Ctrl-C; the first row is the
    answer with all of them.
    """
    first, *lost = losses(case, named)
    rows: Rows = [(first, now)]
    with console.progress("solving without") as tell:
        for i, variation in enumerate(lost):
            if any(_interrupted(result) for _, result in rows):
                break
            tell(variation.name)
            share = 0.9 / (len(lost) - i)
            try:
                result = solved_variation(variation.case, args, share) if variation.case else None
            except InvalidInputError as e:
                # Such as costs that lack on the only machines that are left.
                variation = Variation(variation.name, None, f"{e.what}; cure: {e.cure}")
                result = None
            rows.append((variation, result))
    return rows


def status(rows: Rows) -> ExitStatus:
    """Return whether every loss leaves a plan."""
    if any(_interrupted(result) for _, result in rows):
        return ExitStatus.INTERRUPTED
    if _not_survived(rows):
        return ExitStatus.INFEASIBLE
    return ExitStatus.OK if all(r and r.plan for _, r in rows) else ExitStatus.NO_PLAN


def why_no_plan(rows: Rows) -> str:
    """Return why no plan is written, if `status` is not OK."""
    if _not_survived(rows):
        return "not every loss is survived"
    last = [r for _, r in rows if r and (_interrupted(r) or not r.plan)][-1]
    return f"not every loss was judged to the end: stopped by {last.stopped_by.value}"


def _not_survived(rows: Rows) -> bool:
    return any(r is None or r.status is Status.INFEASIBLE for _, r in rows[1:])


def _interrupted(result: Result | None) -> bool:
    return result is not None and result.stopped_by is StoppedBy.INTERRUPT


def show_survival(console: Console, case: Case, rows: Rows) -> None:
    """Print what each loss leaves, and what it would take to survive the others."""
    if len(rows) == 1:  # Ctrl-C came before the first loss.
        return
    console.heading("after the loss of a site, with the jobs placed anew")
    show(console, case.cluster, rows)
    for variation, result in rows[1:]:
        if result is None:
            console.text(f"the loss of {variation.name} is not survived: {variation.why_not}")
        elif result.conflict:
            console.text(
                f"the loss of {variation.name} is not survived; to survive it: "
                f"{result.conflict.cure}",
                style="red",
            )


def table_of(case: Case, rows: Rows) -> tuple[Sequence[str], Sequence[Sequence[str]]] | None:
    """Return columns and rows of what each loss leaves; None if no loss was judged."""
    return loss_table(case.cluster, rows) if len(rows) > 1 else None


def as_plain(rows: Sequence[tuple[Variation, Result | None]]) -> list[dict[str, object]]:
    """Return the losses as plain data."""
    return [plain("lost", variation, result) for variation, result in rows[1:]]
