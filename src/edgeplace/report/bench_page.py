"""The page of a bench: wrong answers, times, and the machine."""

from collections.abc import Mapping, Sequence

from edgeplace.bench.profile import profile
from edgeplace.bench.record import Run
from edgeplace.bench.run import Bench
from edgeplace.bench.run_tables import (
    proofs_table,
    runs_table,
    summaries_table,
    summary_notes,
    title,
)
from edgeplace.bench.summary import Summary
from edgeplace.bench.user_case import verdict
from edgeplace.instances.instance import Instance
from edgeplace.model import Evaluation, objective_levels
from edgeplace.report.answer import figures, headroom, policies_table
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.report.page import page
from edgeplace.report.parts import (
    Section,
    bullets,
    facts,
    long_table,
    paragraph,
    scrolling,
    table,
)
from edgeplace.report.solution import plan_sections, reasons
from edgeplace.views.terms import Terms

_FACTORS = (1.0, 1.5, 2.0, 5.0, 10.0, 100.0)
"""Columns of the table that repeats the profile."""


def bench_page(
    done: Bench,
    runs: Sequence[Run],
    summaries: Sequence[Summary],
    ratios: Mapping[str, Sequence[float]],
    time_limit_s: float,
) -> str:
    """Return the page of back ends on instances.

    Parameters
    ----------
    ratios
        By back end: time over that of the fastest, for each instance it solved.
    """
    instances = len({r.instance for r in runs})
    sections = [
        Section(
            "back-ends",
            "By back end",
            fragment(
                [
                    table("Averages of each back end", *summaries_table(summaries)),
                    *(paragraph(n, "note") for n in summary_notes(time_limit_s)),
                ]
            ),
        ),
        Section("profile", "Performance profile", _profile(ratios, instances)),
        Section("runs", "Runs", _runs(runs, done.terms)),
        _environment(done.environment),
    ]
    lead = fragment([_verdict(done, runs), _counts(runs, instances)])
    return page(f"Bench of {len(summaries)} back ends on {instances} instances", lead, sections)


def case_page(
    done: Bench,
    runs: Sequence[Run],
    asked: Instance,
    compared: Sequence[tuple[str, Evaluation]],
    objective: Sequence[str],
) -> str:
    """Return the page of all policies on the user's own case.

    Parameters
    ----------
    objective
        The levels that the back ends minimised, as `solve` takes them.
    compared
        The current placement, if it is known, and each policy's placement, the best first.
    """
    answers = done.answers(asked.name)
    named = {title(backend): backend for backend in answers}
    best = next((named[name] for name, e in compared if name in named and e.feasible), None)
    terms = Terms.of(asked.cluster)
    by = objective_levels(objective)[0].name
    lead = [_verdict(done, runs), paragraph(f"{verdict(compared, runs, terms, by)}.")]
    marked = title(best) if best else ""
    sections = [Section("compared", "Placements", policies_table(compared, terms, marked))]
    if best:
        answer = answers[best]
        assert answer.plan is not None and answer.evaluation is not None  # noqa: S101
        evaluations = dict(compared)
        before = next(
            ((n, evaluations[n]) for n in ("current", "all-server") if n in evaluations), None
        )
        lead += [
            paragraph(f"What follows is the plan of {marked}."),
            headroom(answer.evaluation),
            figures(asked, answer.evaluation, before),
        ]
        sections += plan_sections(asked, answer.plan, answer.evaluation, before)
        sections.append(reasons(asked, answer.plan, objective))
    sections += [
        Section("proofs", "Proofs and times", fragment([_proofs(runs, terms), _problems(runs)])),
        _environment(done.environment),
    ]
    return page(f"Placements of {asked.name} compared", fragment(lead), sections)


def _verdict(done: Bench, runs: Sequence[Run]) -> Markup:
    wrong = sum(bool(r.wrong) for r in runs)
    records = len(done.wrong_records())
    if wrong or records:
        text = f"{wrong:,} of {len(runs):,} answers are wrong"
        text += f", and {records:,} recorded best values are." if records else "."
        return paragraph(text, "verdict bad")
    text = (
        "No answer is wrong: each plan was judged by the evaluator, each claim by the others and "
        "the record."
    )
    return paragraph(text, "verdict good")


def _counts(runs: Sequence[Run], instances: int) -> Markup:
    wrong = sum(bool(r.wrong) for r in runs)
    return facts(
        [
            ("instances", f"{instances:,}", ""),
            ("runs", f"{len(runs):,}", ""),
            ("solved by proof", f"{sum(r.solved for r in runs):,}", ""),
            ("wrong", f"{wrong:,}", ""),
        ]
    )


def _profile(ratios: Mapping[str, Sequence[float]], instances: int) -> Markup:
    said = "Share of the instances that a back end solved within a factor of the fastest one's time"
    rows = [
        (name, *(f"{sum(r <= f for r in own) / instances:.0%}" for f in _FACTORS))
        for name, own in ratios.items()
    ]
    picture = element(
        "div", Markup(profile(ratios, instances)), role="img", aria_label=f"{said}: see the table"
    )
    return fragment(
        [
            element(
                "figure",
                scrolling(picture, "Picture of the performance profile"),
                element("figcaption", f"{said}. Higher and farther left is better."),
                class_="profile",
            ),
            table(said, ("back end", *(f">{f:g}x" for f in _FACTORS)), rows),
        ]
    )


def _runs(runs: Sequence[Run], terms: Mapping[str, Terms]) -> Markup:
    # Wrong answers are always visible.
    ordered = sorted(runs, key=lambda r: not r.wrong)
    marks = ["broken" if r.wrong else "" for r in ordered]
    return fragment(
        [_problems(ordered), long_table("A row for each run", *runs_table(ordered, terms), marks)]
    )


def _problems(runs: Sequence[Run]) -> Markup:
    said = [
        *(f"WRONG: {r.backend} on {r.instance}: {text}" for r in runs for text in r.wrong),
        *(f"{r.backend} on {r.instance}: {r.message}" for r in runs if r.message),
    ]
    return bullets(said) if said else fragment([])


def _proofs(runs: Sequence[Run], terms: Terms) -> Markup:
    marks = ["broken" if r.wrong else "" for r in runs]
    return table("The run behind each placement", *proofs_table(runs, terms), marks)


def _environment(found: Mapping[str, object]) -> Section:
    rows = []
    for name, value in found.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{k} {v}" for k, v in value.items())
        if name != "kind":
            rows.append((name.replace("_", " "), str(value)))
    body = table("Machine, releases and load when the bench began", ("what", "value"), rows)
    return Section("environment", "Environment", body)
