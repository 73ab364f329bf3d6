"""A cluster as a table (CSV): a row for each site, or for each group of machines at a site."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple, NoReturn

from pydantic import Field, ValidationError

from edgeplace.model.base import Id, NonNegative, Positive, Whole
from edgeplace.model.cluster import Link, Machine, Position, Tier
from edgeplace.model.errors import InvalidInputError, Mistake
from edgeplace.model.inventory.short_form import MOST_SITES
from edgeplace.model.parsing.complaint import complaint
from edgeplace.model.parsing.units import price_currency
from edgeplace.model.text import did_you_mean, nearest, some

_DELIMITERS = ";\t,"


class SiteRow(Machine, Position):
    """A row: a site, machines there, and the link that leads from it."""

    site: Id
    tier: Tier | None = None
    node: Id | None = None
    """Name of the machine at its site; of several, the number follows. None: the class."""
    count: Whole | None = Field(default=None, ge=1, le=MOST_SITES)
    node_class: Id | None = None
    host: str | None = None
    checkpoint_storage: bool | None = None
    """Whether checkpoints go to this site; of one site."""
    to: Id | None = None
    """Site at the other end of the link, which leads both ways."""
    bandwidth_bytes_per_s: Positive | None = None
    delay_ms: NonNegative | None = None
    background_bytes_per_s: NonNegative | None = None
    price_per_byte: NonNegative | None = None
    included_bytes: NonNegative | None = None


_OF_SITE = ("tier", *Position.model_fields)
_LINK = tuple(f for f in Link.model_fields if f in SiteRow.model_fields)
_OF_MACHINES = ("node", "count", "node_class", "host", *Machine.model_fields)
_NEEDED = ("cores", "slots")
"""What machines must have."""


class _Row(NamedTuple):
    line: int
    cells: Mapping[str, str]
    """Column -> text; only cells that are not empty."""
    read: SiteRow


def cluster_of_table(text: str, path: str) -> dict[str, Any]:
    """Return the content of a cluster file, in the short form, that a table stands for.

    Parameters
    ----------
    path
        The file of the table, for messages.

    Raises
    ------
    InvalidInputError
        If the table has other columns, a cell is not what it should be, a link leads to an unknown
        site, or rows contradict each other; the message has the line.
    """
    rows = list(_rows(text, path))
    if not rows:
        raise InvalidInputError(f"{path}: the table has no rows", "give a row for each site")
    sites: dict[str, dict[str, Any]] = {}
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        name = row.read.site
        site = sites.setdefault(name, {"id": name, "nodes": []})
        # Compared as read, since 48.1 and 48.10 are the same.
        for field, said in row.read.model_dump(include=set(_OF_SITE), exclude_none=True).items():
            if site.setdefault(field, said) != said:
                what = f"site {name!r} had another {field} above"
                _refuse(path, row, what, f"give it one {field}")
        if group := _machines(path, row):
            if group["id"] in (other["id"] for other in site["nodes"]):
                what = f"site {name!r} has machines {group['id']!r} above"
                _refuse(path, row, what, "give each row of a site another 'node', or one 'count'")
            site["nodes"].append(group)
    for row in rows:
        _link(path, row, sites, links)
    found: dict[str, Any] = {"sites": list(sites.values()), "links": list(links.values())}
    storing = {row.read.site: row for row in rows if row.read.checkpoint_storage}
    for name, row in storing.items():
        if len(storing) > 1:
            what = f"checkpoint_storage is at {some(list(storing))}"
            _refuse(path, row, what, "say yes at one site")
        found["checkpoint_storage"] = name
    named = (price_currency(text, field) for row in rows for field, text in row.cells.items())
    currencies = dict.fromkeys(filter(None, named))
    return {"currency": next(iter(currencies)), **found} if currencies else found


def _rows(text: str, path: str) -> Iterator[_Row]:
    head = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    columns = [name.strip() for name in next(reader, [])]
    _check_columns(path, columns)
    for cells in reader:
        line = reader.line_num
        named = {c: cell.strip() for c, cell in zip(columns, cells, strict=False) if cell.strip()}
        if not named:
            continue
        if len(cells) > len(columns):
            raise _wrong(
                path,
                line,
                f"the row has {len(cells)} cells, and there are {len(columns)} columns",
                "put a cell with a comma in quotes",
            )
        try:
            yield _Row(line, named, SiteRow.model_validate(named))
        except ValidationError as e:
            what, cure, mistakes = complaint(e, SiteRow, named)
            raise InvalidInputError(
                f"{path}:{line}: {what}", cure, [m._replace(line=line) for m in mistakes]
            ) from e


def _check_columns(path: str, columns: Sequence[str]) -> None:
    # The columns of the rows go before those of all machines.
    others = (*Position.model_fields, *Machine.model_fields)
    known = [*(f for f in SiteRow.model_fields if f not in others), *others]
    for name in columns:
        if name not in known:
            near = nearest(name, known, 0.51)
            cure = f"did you mean {near!r}?" if near else f"the columns are {', '.join(known)}"
            raise _wrong(path, 1, f"there is no column of the name {name!r}", cure)
        if columns.count(name) > 1:
            raise _wrong(path, 1, f"the column {name!r} is there twice", "leave one out")
    if "site" not in columns:
        raise _wrong(path, 1, "there is no column 'site'", "begin with a line of column names")


def _machines(path: str, row: _Row) -> dict[str, Any] | None:
    """Return the machines of a row as a group of nodes of its site."""
    given = {name: row.cells[name] for name in _OF_MACHINES if name in row.cells}
    if not given:
        return None
    for field in _NEEDED:
        if field not in given:
            what = f"the machines at {row.read.site!r} have no {field}"
            _refuse(path, row, what, f"fill the column {field!r}")
    name = given.pop("node", None) or given.get("node_class", "node")
    if "count" in given:
        name = name if "*" in name else f"{name}-*"
    return {"id": name, **given}


def _link(
    path: str,
    row: _Row,
    sites: Mapping[str, object],
    links: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """Add the link of a row to those of the rows above."""
    given = {name: row.cells[name] for name in _LINK if name in row.cells}
    source, target = row.read.site, row.read.to
    if target is None:
        if given:
            what = f"the row has {some(list(given))} of a link, and no site at its other end"
            _refuse(path, row, what, "fill the column 'to'")
        return
    if target not in sites:
        cure = did_you_mean(target, sites, "or give it a row of its own")
        _refuse(path, row, f"there is no site {target!r}", cure)
    if target == source:
        _refuse(path, row, f"the link of {source!r} leads nowhere", "name another site in 'to'")
    known = links.get((source, target)) or links.get((target, source))
    if known is None:
        links[source, target] = {"source": source, "target": target, "both_ways": True, **given}
    elif any(known.get(name) != text for name, text in given.items()):
        what = f"another row says something else of the link {source!r} -> {target!r}"
        _refuse(path, row, what, "state a link once")


def _refuse(path: str, row: _Row, what: str, cure: str) -> NoReturn:
    raise _wrong(path, row.line, what, cure)


def _wrong(path: str, line: int, what: str, cure: str) -> InvalidInputError:
    return InvalidInputError(f"{path}:{line}: {what}", cure, [Mistake(what, cure, line)])
