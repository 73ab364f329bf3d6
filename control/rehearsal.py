"""A schedule of what goes wrong: `edgeplace control rehearse` lets it happen on the testbed."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from edgeplace.model import InvalidInputError
from edgeplace.model.base import Frozen, Id, NonNegative, Positive
from edgeplace.model.document import parse, read
from edgeplace.model.parsing.content import text_of

Policy = Literal["edgeplace", "static", "hpa", "autoscaler", "ds2", "thesis", "demeter"]


class Injected(Frozen):
    """Something that happens, in seconds from the begin of the schedule."""

    at_s: NonNegative
    for_s: Positive | None = None
    """After so long it is as it was at first; None: until the end."""

    @property
    def said(self) -> str:
        """What happens, in words."""
        raise NotImplementedError


class RateStep(Injected):
    """The sources are offered another rate."""

    do: Literal["rate"]
    factor: Positive
    """Of the rate at first."""

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"rate x{self.factor:g}"


class ThinLink(Injected):
    """The link between two sites carries less, in both directions."""

    do: Literal["link"]
    site: Id
    other: Id
    bandwidth_bytes_per_s: Positive

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"link {self.site} - {self.other} at {self.bandwidth_bytes_per_s * 8e-6:g} Mbit/s"


class LostSite(Injected):
    """All links of a site are cut: nothing answers there."""

    do: Literal["cut"]
    site: Id

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"site {self.site} cut off"


class KilledNode(Injected):
    """The TaskManager of a machine is killed, and started again after `for_s`."""

    do: Literal["kill"]
    node: Id

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"{self.node} killed"


class SlowNode(Injected):
    """A machine has fewer cores."""

    do: Literal["slow"]
    node: Id
    cores: Annotated[Positive, Field(ge=0.25)]

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"{self.node} at {self.cores:g} cores"


AnyInjected = Annotated[
    RateStep | ThinLink | LostSite | KilledNode | SlowNode, Field(discriminator="do")
]


class Rehearsal(Frozen):
    """What happens when, and what watches over the job."""

    format: Literal["edgeplace/rehearsal"] = "edgeplace/rehearsal"
    version: Literal[1] = 1
    events: Annotated[tuple[AnyInjected, ...], Field(min_length=1)]
    duration_s: Annotated[Positive, Field(le=86_400)] = 240.0
    rate_per_s: Positive = 40.0
    """Records per second of each of the two source subtasks, at first."""
    link_bytes_per_s: Positive = 500_000.0
    """Of each link, at first."""
    policy: Policy = "edgeplace"
    """Who watches: our loop, nobody (`static`), or another policy's rule with our plans.

    A rule chooses among the plans that are proved for several rates, and begins with the one for
    the rate at first, as the loop does.
    """
    control: dict[str, Any] = {}
    """Keys of `control.yaml` that shall be others than by default."""


def read_rehearsal(path: str | Path) -> Rehearsal:
    """Read a schedule: YAML or JSON, or a table (CSV) of its events with their fields as columns.

    Raises
    ------
    InvalidInputError
        If it is none, or an event comes after its end.
    """
    if Path(path).suffix.lower() == ".csv":
        rows = csv.DictReader(io.StringIO(text_of(path)))
        events = [{k: v.strip() for k, v in row.items() if k and v and v.strip()} for row in rows]
        events = [{k: _value(v) for k, v in event.items()} for event in events if event]
        last_s = max((_end_s(e) for e in events), default=0.0)
        found = parse({"events": events, "duration_s": last_s + 60.0}, Rehearsal, str(path))
    else:
        found = read(path, Rehearsal)
    for event in found.events:
        if event.at_s >= found.duration_s:
            raise InvalidInputError(
                f"{path}: {event.said} comes at {event.at_s:g} s, after the end at "
                f"{found.duration_s:g} s",
                "make `duration_s` longer",
            )
    return found


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _end_s(event: dict[str, Any]) -> float:
    return sum(v for k in ("at_s", "for_s") if isinstance(v := event.get(k), float))
