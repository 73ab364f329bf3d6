"""The page of a Pareto front: its picture, its plans, and the placements beside them."""

from collections.abc import Sequence

from edgeplace.cli.quantities import counted
from edgeplace.model import Case
from edgeplace.report.answer import policies_table
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.report.page import page
from edgeplace.report.parts import Section, paragraph, scrolling, table
from edgeplace.report.plan_tables import Origin, origin_section
from edgeplace.solver import Front, Policy
from edgeplace.views.pictures.pareto_picture import PROVED, front_table
from edgeplace.views.terms import Terms


def front_page(
    case: Case, front: Front, others: Sequence[Policy], picture: str, origin: Origin
) -> str:
    """Return the page of a front with at least one plan.

    Parameters
    ----------
    picture
        The front as SVG.
    """
    terms = Terms.of(case.cluster)
    columns, rows = front_table(front.points, terms)
    said = [PROVED.capitalize() + ".", terms.explanation()]
    if front.unasked:
        said.append(
            f"{counted(front.unasked, 'questions')} had no time: there may be more plans between."
        )
    plans = [
        figure(picture, "Picture of the front"),
        table("The plans of the front, the least WAN first", ("plan", *columns[1:]), rows),
        *(paragraph(text, "note") for text in said if text),
    ]
    sections = [Section("front", "The front", fragment(plans))]
    if others:
        compared = [(p.name, p.evaluation) for p in others]
        sections.append(Section("others", "Other placements", policies_table(compared, terms)))
    sections.append(origin_section(origin))
    lead = (
        f"{counted(len(front.points), 'plans')}, of which none is better than another in WAN, "
        "worst path and server cores at once."
    )
    return page(f"The trade-off of {case.name}", paragraph(lead, "verdict"), sections)


def figure(picture: str, label: str) -> Markup:
    """Return a picture, SVG as it stands, which scrolls where it is wider than the page."""
    return element("figure", scrolling(Markup(picture), label))
