"""The page of a loop that runs: what it sees, what it would do and why not, read only."""

from collections.abc import Sequence
from datetime import UTC, datetime

from edgeplace.cli.quantities import count, percent, size
from edgeplace.control.amounts import amount, by_time
from edgeplace.control.forecast import DAY
from edgeplace.control.loop.expected.day import BIN_S, Day, the_day
from edgeplace.control.loop.guard import held_now, load_of, rates_now
from edgeplace.control.loop.memory import Memory
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.report.page import page
from edgeplace.report.parts import Section, bullets, facts, long_table, paragraph, scrolling, table

_WIDTH, _HEIGHT = 860, 240
_LEFT, _RIGHT, _TOP, _FOOT = 64, 12, 14, 26


def control_page(memory: Memory, now_s: float) -> str:
    """Return the page; `now_s` is of the loop's clock."""
    job = memory.settings.job if memory.settings else "no job"
    sections = [
        Section("plan", "The plan in force", _plan(memory)),
        Section("day", "The day", _day(memory)),
        Section("decisions", "The last decisions", _decisions(memory)),
    ]
    if memory.advice:
        sections.insert(2, Section("machines", "Other machines", _machines(memory)))
    if memory.lost or memory.losses or memory.loss_plans:
        sections.insert(1, Section("sites", "Sites that may be lost", _sites(memory)))
    if memory.proposal is not None:
        sections.insert(0, Section("proposed", "What it proposes", _proposal(memory)))
    return page(f"The loop of {job}", _lead(memory, now_s), sections)


def _lead(memory: Memory, now_s: float) -> Markup:
    rates = rates_now(memory.recent)
    load = load_of(memory, rates)
    price = memory.price
    given = [
        ("records/s", count(sum(rates.values())) if rates else "not known", "of all sources"),
        ("load", percent(load) if load is not None else "not known", "of what runs sustains"),
        ("held back", percent(held_now(memory.recent)) if rates else "not known", "sources"),
        (
            "regret",
            amount(memory.regret, memory.currency),
            f"a change costs {amount(price, memory.currency)}" if price > 0 else "",
        ),
    ]
    state = memory.fallen or memory.blind
    age = "" if memory.observed_s is None else f"{max(0.0, now_s - memory.observed_s):.0f} s ago"
    told = state or f"Flink has answered {age}"
    return fragment(
        [
            paragraph(f"{told}.", "verdict bad" if state else "verdict"),
            paragraph(f"Decided last: {memory.decision or 'nothing'}."),
            facts(given),
            paragraph(
                f"Mode {memory.mode}, leader {memory.epoch}, {_when(now_s)}. Load the page again "
                "for newer figures.",
                "note",
            ),
        ]
    )


def _proposal(memory: Memory) -> Markup:
    found = memory.proposal
    if found is None:
        return fragment([])
    head = ("operator", "runs at", "would run at")
    rows = [
        (op, _counted(memory.places.get(op, ())), _counted(row)) for op, row in found.to.items()
    ]
    if found.weights:
        head = ("router", "shares of its workers", "would be")
        rows = [
            (f"{name} <- {r}", _shares(memory.weights.get(name, ())[r - 1 : r]), _shares((row,)))
            for name, given in found.weights.items()
            for r, row in enumerate(given, 1)
        ]
    return fragment(
        [
            paragraph(f"{found.id}, {found.kind}: {found.why}."),
            paragraph(
                f"Not now: {'; '.join(found.hindered)}." if found.hindered else "No gate says no."
            ),
            table(
                found.acts,
                head,
                rows,
                ["best" if now != then else "" for _, now, then in rows],
            ),
        ]
    )


def _shares(rows: Sequence[Sequence[float]]) -> str:
    return "; ".join(", ".join(map(percent, row)) for row in rows)


def _plan(memory: Memory) -> Markup:
    if not memory.places:
        return paragraph("Flink has not told yet where the subtasks run.")
    rows = [(op, f"{len(row):,}", _counted(row)) for op, row in memory.places.items()]
    where = long_table("Where the job runs", ("operator", ">subtasks", "TaskManagers"), rows)
    figures = memory.figures
    if figures is None:
        return where
    total = sum(memory.figures_rates.values())
    money = memory.currency and by_time(figures.wan_cost, memory.currency)
    broken = f" It breaks {figures.broken}." if figures.broken else ""
    return fragment(
        [
            paragraph(
                f"Reckoned by its costs at the {total:,.0f} records/s that are expected, headroom "
                f"included; the costs are taken as {percent(memory.bias)} right.{broken}"
            ),
            facts(
                [
                    ("bears", percent(figures.headroom), "of these rates"),
                    ("WAN", f"{size(figures.wan_bytes_per_s)}/s", money or "over all links"),
                    ("latency", f"{figures.latency_ms:,.1f} ms", "on the worst path"),
                    ("server cores", f"{figures.server_cores:,.2f}", "in use"),
                ]
            ),
            where,
        ]
    )


def _machines(memory: Memory) -> Markup:
    return fragment(
        [
            paragraph("At the largest rates that are expected within a day; nothing is done."),
            bullets([f"{advice.says}." for advice in memory.advice]),
        ]
    )


def _sites(memory: Memory) -> Markup:
    texts = [f"Site {name} is lost." for name in memory.lost]
    texts += [f"{name} gets nothing new: it was lost too often." for name in memory.kept_out]
    texts += [
        f"If site {name} is lost: {plan.problem or f'{plan.moves:,} subtasks would move'}."
        for name, plan in memory.loss_plans.items()
    ]
    return bullets(texts or ["All are there."])


def _counted(row: Sequence[str | None]) -> str:
    """Return TaskManagers with their number of subtasks."""
    names = [tm or "no place" for tm in row]
    return ", ".join(f"{tm} ×{names.count(tm)}" for tm in dict.fromkeys(names))


def _day(memory: Memory) -> Markup:
    day = the_day(memory)
    if day is None:
        return paragraph("The first half hour is not over yet.")
    rows = [
        (_when((memory.bin - len(day.came) + i) * BIN_S), f"{came:,.0f}", f"{bound:,.0f}")
        for i, (came, bound) in enumerate(zip(day.came, day.bound, strict=True))
    ]
    said = "The largest rate of each half hour, and the bound that was forecast for it"
    return fragment(
        [
            element(
                "figure",
                scrolling(_picture(day), "Picture of the day"),
                element(
                    "figcaption",
                    "Records per second by half hour. Line: what came. Filled: up to the bound "
                    "that was forecast. Right of the upright line: the next day, as expected.",
                ),
            ),
            long_table(said, ("half hour from", ">came", ">bound"), rows[::-1]),
        ]
    )


def _picture(day: Day) -> Markup:
    bins = len(day.came) + DAY
    most = max(*day.came, *day.bound, *day.next_bound, 1e-9)
    across = (_WIDTH - _LEFT - _RIGHT) / bins
    base = _HEIGHT - _FOOT

    def line(values: Sequence[float], first: int) -> str:
        """Return a step for each half hour, from where the pen is."""
        at = [base - (base - _TOP) * v / most for v in values]
        return "".join(f"V{y:.1f}H{_LEFT + across * (first + i + 1):.1f}" for i, y in enumerate(at))

    now = len(day.came)
    start = f"M{_LEFT} {base}"
    turn = _LEFT + across * now
    bound = line((*day.bound, *day.next_bound), 0)
    held = sum(c <= b for c, b in zip(day.came, day.bound, strict=True))
    text = (
        f"In the last {now:,} half hours at most {max(day.came):,.0f} records per second came; "
        f"{held:,} stayed below their bound. In the next day at most {max(day.next_expected):,.0f} "
        f"are expected, with a bound of {max(day.next_bound):,.0f}. The table has the figures."
    )
    labels = [
        element("text", f"{most:,.0f}", x=_LEFT - 8, y=_TOP + 10, text_anchor="end"),
        element("text", "0", x=_LEFT - 8, y=base, text_anchor="end"),
        element("text", "now", x=turn, y=_HEIGHT - 8, text_anchor="middle"),
        element("text", "+24 h", x=_WIDTH - _RIGHT, y=_HEIGHT - 8, text_anchor="end"),
    ]
    return element(
        "svg",
        element("title", "The day", id="day-picture"),
        element("desc", text, id="day-said"),
        element("path", d=f"{start}{bound}V{base}z", class_="bound"),
        element("path", d=f"{start}{line(day.came, 0)}", class_="came"),
        element("path", d=f"M{turn:.1f} {base}{line(day.next_expected, now)}", class_="expected"),
        element("path", d=f"M{turn:.1f} {_TOP}V{base}", class_="now"),
        element("path", d=f"{start}H{_WIDTH - _RIGHT}", class_="axis"),
        *labels,
        class_="day",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby="day-picture day-said",
    )


def _decisions(memory: Memory) -> Markup:
    if not memory.log:
        return paragraph("Nothing was decided yet.")
    rows = [(_when(told.at_s), told.says) for told in reversed(memory.log)]
    return long_table("The newest first, in UTC", ("when", "what was decided, and why not"), rows)


def _when(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%a %d %b %H:%M:%S UTC")
