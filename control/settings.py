"""`control.yaml`: which job is watched, and what may be done about it."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from edgeplace.model import Rules, address_fault, refuse_demand
from edgeplace.model.base import Frozen, Id, NonNegative, Share, Whole, number

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MINUTES_A_WEEK = 7 * 24 * 60
_MOMENT = rf"({'|'.join(DAYS)}) ([01][0-9]|2[0-3]):([0-5][0-9])"
_FREEZE = re.compile(rf"{_MOMENT} - {_MOMENT}")
_LISTEN = re.compile(r"(127\.0\.0\.1|localhost|\[::1\]):([0-9]{1,5})")
_LAST_PORT = 65_535
_NUMBERS = re.compile(r"([0-9]{1,5})\.\.([0-9]{1,5})")


def frozen_minutes(text: str) -> tuple[int, int]:
    """Return the first minute of a freeze and the first after it, from Monday 00:00 on.

    Raises
    ------
    ValueError
        If the text is none.
    """
    hit = _FREEZE.fullmatch(text)
    if hit is None:
        raise ValueError(
            f"{text!r} is no time of a week; write two times in UTC, Fri 16:00 - Mon 08:00"
        )
    day, hour, minute, *rest = hit.groups()
    first, last = (
        DAYS.index(d) * 24 * 60 + int(h) * 60 + int(m)
        for d, h, m in ((day, hour, minute), tuple(rest))
    )
    return first, last


def is_frozen(freeze: tuple[str, ...], wall_s: float) -> str:
    """Return the freeze that a Unix time lies in; empty: none."""
    # The Unix epoch was a Thursday.
    minute = (int(wall_s) // 60 + DAYS.index("Thu") * 24 * 60) % _MINUTES_A_WEEK
    for text in freeze:
        first, last = frozen_minutes(text)
        inside = first <= minute < last if first < last else minute >= first or minute < last
        if inside:
            return text
    return ""


def _a_freeze(text: str) -> str:
    frozen_minutes(text)
    return text


def address(text: str) -> tuple[str, int]:
    """Return host and port of `listen`.

    Raises
    ------
    ValueError
        If it is none, or other machines could reach it.
    """
    hit = _LISTEN.fullmatch(text)
    if hit is None or int(hit[2]) > _LAST_PORT:
        raise ValueError(
            f"{text!r} is no address of this machine's own; write 127.0.0.1:9550, and let a proxy "
            "with passwords serve others"
        )
    return hit[1].strip("[]"), int(hit[2])


def _an_address(text: str) -> str:
    address(text)
    return text


def _a_rest_api(text: str) -> str:
    fault = address_fault(text)
    if fault:
        # It may hold a password, so it is not shown.
        told = {"cure": fault.cure, "secret": True}
        raise PydanticCustomError("address", f"the address {fault.what}", told)
    return text


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of subtasks that a text such as `1..8` stands for.

    Raises
    ------
    ValueError
        If it is none.
    """
    hit = _NUMBERS.fullmatch(text)
    if hit is None or not 1 <= int(hit[1]) <= int(hit[2]):
        raise ValueError(f"{text!r} stands for no numbers of subtasks; write 1..8")
    return tuple(range(int(hit[1]), int(hit[2]) + 1))


def _a_range(text: str) -> str:
    numbers(text)
    return text


RestApi = Annotated[Id, AfterValidator(_a_rest_api)]
Numbers = Annotated[str, AfterValidator(_a_range)]
Freeze = Annotated[str, AfterValidator(_a_freeze)]
Listen = Annotated[str, AfterValidator(_an_address)]
Seconds = Annotated[float, BeforeValidator(number), Field(ge=1, le=86_400)]
Count = Annotated[Whole, Field(ge=0, le=1000)]
Mode = Literal["recommend", "approve", "apply"]


class ChangeLimits(Frozen):
    """How often, how much and when a job may be changed."""

    voluntary_per_hour: Count = 2
    """Changes that are worth it, but not needed."""
    voluntary_per_day: Count = 12
    urgent_per_hour: Count = 6
    """Changes without which the job would not keep up."""
    wan_mb_per_day: NonNegative | None = None
    """State that changes may read back over the WAN, in 10^6 bytes; None: as much as they need."""
    least_gain: Share = 0.05
    """Share of the WAN bytes that a change has to save."""
    freeze: tuple[Freeze, ...] = ()
    """Times of the week without changes, in UTC: `Fri 16:00 - Mon 08:00`."""


class ControlSettings(Frozen):
    """What the loop watches, what it decides with, and what it may do.

    Files are found from the folder of this one.
    """

    format: Literal["edgeplace/control"] = "edgeplace/control"
    version: Literal[1] = 1
    jobmanager: RestApi
    """Flink's REST API, such as `http://localhost:8081`."""
    job: Id
    """Name of the job; it is followed when it is submitted again."""
    cluster: Id
    """Cluster file."""
    costs: Id | None = None
    """Costs file, read anew for each decision; None: those that the loop measures itself."""
    measure_s: Seconds | None = 3600.0
    """Seconds between batches that measure the loop's own log: hours of it are closed, go to a
    ledger, and give costs, which are used where they are younger than `costs`; None: never."""
    rules: Id | None = None
    """Rules file."""
    credentials: Id | None = None
    """File with `token`, or `user` and `password`."""
    ca_file: Id | None = None
    """Certificates to trust (PEM)."""
    plans: Id | None = None
    """The agent's folder of plans; None: where the JobManager says it is."""
    folder: Id = "control"
    """Folder of the journal and the metric log."""
    mode: Mode = "recommend"
    """`recommend` changes nothing, `approve` does what a person has approved, `apply` acts."""
    poll_s: Seconds = 10.0
    """Seconds between questions to Flink."""
    decide_s: Annotated[Seconds, Field(ge=60)] = 900.0
    """Seconds between decisions, unless the guard asks for one."""
    settle_s: Seconds = 180.0
    """Seconds after a start of the job in which nothing is decided: what it catches up is no load,
    and code is not compiled yet."""
    solve_s: Annotated[Seconds, Field(le=600)] = 10.0
    """Wall time of a search."""
    apply_s: Annotated[Seconds, Field(le=3600)] = 120.0
    """Wall time for a move to be seen healthy, and again for the way back."""
    headroom: Annotated[float, BeforeValidator(number), Field(ge=1, le=10)] = 1.15
    """Factor on the rates that are expected: a plan has to sustain that much."""
    quantile: Annotated[float, BeforeValidator(number), Field(ge=0.5, le=0.99)] = 0.9
    """How often the rates shall stay below what is expected."""
    changes: ChangeLimits = ChangeLimits()
    rescale: dict[Id, Numbers] = {}
    """Operator -> numbers of subtasks to choose from, such as `1..8`."""
    recovery_s: Seconds | None = None
    """Time within which a failure has to be made up for: changes set the interval of checkpoints
    by it; None: it is left as it is."""
    survive: tuple[Id, ...] = ()
    """Sites for whose loss a plan is kept ready."""
    listen: Listen | None = None
    """Address of the page and of `/metrics`, such as `127.0.0.1:9550`; None: neither is served."""


def refuse_periods(rules: Rules | None) -> None:
    """Refuse rules with a demand in periods: the loop forecasts the day itself.

    Raises
    ------
    InvalidInputError
        If there are any.
    """
    refuse_demand(rules, "the loop forecasts the day itself and places jobs")
