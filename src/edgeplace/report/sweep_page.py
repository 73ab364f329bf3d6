"""The page of a sweep, or of each site lost in turn: a picture and a table."""

from collections.abc import Sequence

from edgeplace.cli.quantities import counted
from edgeplace.model import Case, Evaluation
from edgeplace.report.front_page import figure
from edgeplace.report.markup import fragment
from edgeplace.report.page import page
from edgeplace.report.parts import Section, paragraph, table
from edgeplace.report.plan_tables import Origin, origin_section
from edgeplace.views.pictures.sweep_picture import as_svg
from edgeplace.views.terms import Terms


def sweep_page(
    case: Case,
    swept: str | None,
    steps: Sequence[tuple[str, Evaluation | None]],
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    origin: Origin,
) -> str:
    """Return the page.

    Parameters
    ----------
    swept
        What has another value for each plan; None: sites are lost in turn, after the case with
        all of them.
    steps
        Each value or site, and the figures of its plan; None: there is no plan.
    columns, rows
        The table on the terminal.
    """
    terms = Terms.of(case.cluster)
    what = swept or "lost site"
    marks = ["" if e else "broken" for _, e in steps]
    parts = [
        figure(
            as_svg(what, steps, terms, joined=swept is not None),
            f"Picture of the plans for each {what}",
        ),
        table(f"The best plan for each {what}", columns, rows, marks),
        *(paragraph(text, "note") for text in [terms.explanation()] if text),
    ]
    sections = [Section("plans", "The plans", fragment(parts)), origin_section(origin)]
    lead = (
        f"The best plan for each of {counted(len(steps), 'values')} of {swept}."
        if swept
        else f"The best plan as it is (none), and after {_losses(len(steps) - 1)}; of sites "
        "that are alike, one was tried."
    )
    return page(f"What if: {case.name}", paragraph(lead, "verdict"), sections)


def _losses(n: int) -> str:
    return "one loss" if n == 1 else f"each of {n:,} losses"
