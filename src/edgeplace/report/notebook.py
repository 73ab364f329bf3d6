"""An answer in a notebook: parts of the report, and tables for further work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgeplace.cli.quantities import count, factor, milliseconds
from edgeplace.model import Conflict, Evaluation, Limit, MissingExtraError, Result
from edgeplace.report.answer import conflict_section, headroom, levels_table, verdict
from edgeplace.report.markup import Markup, fragment
from edgeplace.report.parts import bar, table
from edgeplace.views.terms import Terms

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

_FULLEST = 5


def result_html(found: Result) -> str:
    """Return the verdict, the figures and the proof of an answer, or why there is no plan."""
    terms = _terms(found)
    parts: list[str] = [verdict(found, terms)]
    if found.evaluation:
        parts += [evaluation_html(found.evaluation), levels_table(found.levels, terms)]
    if found.conflict:
        parts.append(conflict_html(found.conflict))
    return fragment(map(Markup, parts))


def _terms(found: Result) -> Terms:
    """Return the names of terms, as far as an answer knows of its cluster."""
    return Terms.of_plan(found.evaluation) if found.evaluation else Terms()


def evaluation_html(found: Evaluation) -> str:
    """Return the figures of a plan, and its fullest limits."""
    terms = Terms.of_plan(found)
    broken = ", ".join(map(terms.limit, found.violations))
    rows = [
        ("WAN", terms.rate(found.wan_bytes_per_s)),
        ("of it checkpoints", terms.rate(found.checkpoint_bytes_per_s)),
        ("worst path", milliseconds(found.latency_ms)),
        ("server cores", count(found.server_cores)),
        ("moves", count(found.moves)),
        ("headroom", factor(found.headroom)),
        ("holds", f"no: {broken}" if broken else "yes"),
    ]
    if found.cost_per_month is not None:
        rows.insert(1, ("cost", terms.value("cost", found.cost_per_month)))
    every = (*found.links, *found.nodes, *found.task_managers)
    fullest = sorted(every, key=lambda v: -v.utilisation)[:_FULLEST]
    bars = [(str(v.kind), v.where, bar(v.utilisation)) for v in fullest]
    return fragment(
        [
            table("The plan", ("figure", ">value"), rows),
            headroom(found),
            table("Its fullest limits", ("limit", "where", "in use"), bars),
        ]
    )


def conflict_html(found: Conflict) -> str:
    """Return why no plan exists, and what would help."""
    return conflict_section(found, Terms(rates=found.rates_in)).body


def as_frame(limits: Sequence[Limit]) -> "pd.DataFrame":
    """Return limits as a table, such as `evaluation.links` or `evaluation.nodes`.

    Returns
    -------
    DataFrame
        A row for each limit: `kind`, `where`, `used`, `capacity` and `unit`; `utilisation` is
        used / capacity, from 0.

    Raises
    ------
    MissingExtraError
        Without pandas.
    """
    try:
        import pandas as pd
    except ImportError as e:
        raise MissingExtraError("pandas is not installed", "pip install pandas") from e
    columns = ("kind", "where", "used", "capacity", "unit", "utilisation")
    rows = [(str(v.kind), v.where, v.used, v.capacity, v.unit, v.utilisation) for v in limits]
    return pd.DataFrame(rows, columns=list(columns))
