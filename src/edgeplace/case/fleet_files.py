"""Tables of a fleet: the replicas of each site, and the places of their subtasks."""

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeplace.model import InvalidInputError, MissingExtraError, nearest, write_text
from edgeplace.solver.fleet import FleetResult, Replicas

_PLAIN = ("bandwidth_bytes_per_s", "delay_ms", "price_per_byte")
_KEYED = {"rates": "JOB", "cores": "NODE", "slots": "TASKMANAGER"}
_KNOWN = ("id", "site", *_PLAIN, "rates", *(f"{k}:{of}" for k, of in _KEYED.items()))
_BATCH = 10_000
"""Replicas whose rows are written at a time."""
PLAN_COLUMNS = ("site", "id", "job", "operator", "subtask", "task_manager")


@dataclass(frozen=True)
class SitesTable:
    """The rows of a table of replicas.

    Attributes
    ----------
    path
        The file.
    ids
        Site -> names of its replicas, in the order of the file.
    columns
        Site -> column -> value at each replica, shape (n_replicas,); only columns with values.
    """

    path: str
    ids: Mapping[str, Sequence[str]]
    columns: Mapping[str, Mapping[str, NDArray[np.float64]]]

    def replicas(self, jobs: Sequence[str]) -> dict[str, Replicas]:
        """Return the replicas of each site.

        Parameters
        ----------
        jobs
            All jobs of the fleet: the column `rates` is of all of them.

        Raises
        ------
        InvalidInputError
            If a value is out of range, or it is not clear which jobs `rates` is of.
        """
        found = {}
        for site, ids in self.ids.items():
            own = self.columns[site]
            keyed: dict[str, Any] = {name: {} for name in _KEYED}
            if "rates" in own:
                if len(self.ids) > 1:
                    raise InvalidInputError(
                        f"{self.path}: the column 'rates' does not say which job it is of, and "
                        f"there are replicas of {len(self.ids)} sites",
                        "name it " + " or ".join(f"rates:{job}" for job in jobs),
                    )
                keyed["rates"] = dict.fromkeys(jobs, own["rates"])
            for name, column in own.items():
                kind, _, key = name.partition(":")
                if key:
                    keyed[kind][key] = column.astype(np.intp) if kind == "slots" else column
            plain: dict[str, Any] = {n: own[n] for n in _PLAIN if n in own}
            try:
                found[site] = Replicas(len(ids), **keyed, **plain)
            except InvalidInputError as e:
                raise InvalidInputError(
                    f"{self.path}: site {site!r}: {e.what} (its replicas are counted from 0, in "
                    "the order of the table)",
                    e.cure,
                ) from e
        return found


def read_sites(path: str) -> SitesTable:
    """Read a table of replicas: CSV, or Parquet by its ending.

    Raises
    ------
    InvalidInputError
        If the file is not such a table; the message has the line.
    MissingExtraError
        If it is Parquet, and pandas or pyarrow is not installed.
    """
    header, rows, first = _parquet(path) if _is_parquet(path) else _csv(path)
    _check_header(path, header)
    ids: dict[str, list[str]] = {}
    cells: dict[str, dict[str, list[float]]] = {}
    lines: dict[str, int] = {}
    for number, row in enumerate(rows, first):
        at = f"{path}:{number}"
        if len(row) != len(header):
            raise InvalidInputError(
                f"{at}: the row has {len(row)} cells, and there are {len(header)} columns",
                "give each row a cell for each column; it may be empty",
            )
        named = dict(zip(header, row, strict=True))
        replica, site = named["id"], named["site"]
        if not replica or not site:
            raise InvalidInputError(
                f"{at}: the row has no {'site' if replica else 'id'}",
                "name the replica and its site",
            )
        if replica in lines:
            raise InvalidInputError(
                f"{at}: id {replica!r} is that of row {lines[replica]}, too",
                "give each replica its own id",
            )
        lines[replica] = number
        ids.setdefault(site, []).append(replica)
        own = cells.setdefault(site, {})
        for name in header:
            if name not in ("id", "site"):
                own.setdefault(name, []).append(_number(named[name], name, at))
    if not ids:
        raise InvalidInputError(f"{path}: the table has no rows", "give a row for each replica")
    return SitesTable(path, ids, {s: _given(path, s, ids[s], own) for s, own in cells.items()})


def write_plans(path: str, result: FleetResult, ids: Mapping[str, Sequence[str]]) -> None:
    """Write where each subtask of each replica runs: CSV, or Parquet by the ending.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    if not _is_parquet(path):
        write_text(_lines(result, ids), path)
        return
    pandas = _pandas(path)
    parts = []
    for site, places in result.places.items():
        columns = _subtasks(result, site)
        n, width = places.shape
        tiled = {name: np.tile(np.array(v), n) for name, v in columns.items()}
        names = np.array(result.task_managers)[places.ravel()]
        replicas = np.repeat(np.array(ids[site], object), width)
        parts.append(
            pandas.DataFrame({"site": site, "id": replicas, **tiled, "task_manager": names})
        )
    part = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
    try:
        pandas.concat(parts).to_parquet(part, index=False)
        # Readers see it whole or not at all.
        part.replace(path)
    except OSError as e:
        raise InvalidInputError(
            f"{path}: cannot be written: {e.strerror}", "choose another place"
        ) from e
    finally:
        part.unlink(missing_ok=True)


def check_table(path: str) -> None:
    """Find out before long work whether a table can be written.

    Raises
    ------
    InvalidInputError
        If its ending is neither .csv nor .parquet.
    MissingExtraError
        If it is Parquet, and pandas or pyarrow is not installed.
    """
    if _is_parquet(path):
        _pandas(path)
    elif Path(path).suffix.lower() != ".csv":
        raise InvalidInputError(
            f"{path}: a table is CSV or Parquet", "give a name that ends in .csv or .parquet"
        )


def _subtasks(result: FleetResult, site: str) -> dict[str, list[Any]]:
    """Return job, operator and index (from 0) of each subtask of a site."""
    pairs = result.subtasks[site]
    seen: dict[tuple[str, str], int] = {}
    index = []
    for pair in pairs:
        index.append(seen.get(pair, 0))
        seen[pair] = index[-1] + 1
    return {
        "job": [job for job, _ in pairs],
        "operator": [operator for _, operator in pairs],
        "subtask": index,
    }


def _lines(result: FleetResult, ids: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield ",".join(PLAN_COLUMNS) + "\n"
    for site, places in result.places.items():
        subtasks = list(zip(*_subtasks(result, site).values(), strict=True))
        for first in range(0, len(places), _BATCH):
            part = StringIO()
            writer = csv.writer(part, lineterminator="\n")
            for replica, own in zip(
                ids[site][first : first + _BATCH],
                places[first : first + _BATCH].tolist(),
                strict=True,
            ):
                writer.writerows(
                    (site, replica, *subtask, result.task_managers[t])
                    for subtask, t in zip(subtasks, own, strict=True)
                )
            yield part.getvalue()


def _is_parquet(path: str) -> bool:
    return Path(path).suffix.lower() in (".parquet", ".pq")


def _pandas(path: str) -> Any:
    try:
        import_module("pyarrow")
        return import_module("pandas")
    except ImportError as e:
        raise MissingExtraError(
            f"{path}: Parquet needs pandas and pyarrow, and {e.name} is not installed",
            "pip install 'edgeplace[spark]', or use CSV",
        ) from e


def _parquet(path: str) -> tuple[list[str], Iterator[Sequence[str]], int]:
    """Return header, rows as text, and the number of the first row."""
    pandas = _pandas(path)
    try:
        table = pandas.read_parquet(path)
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file", "check the path") from None
    except (OSError, ValueError) as e:
        raise InvalidInputError(f"{path}: not a Parquet table: {e}", "is the file whole?") from e
    rows = table.astype(object).where(table.notna(), "").itertuples(index=False, name=None)
    return [str(c) for c in table.columns], (tuple(map(str, row)) for row in rows), 1


def _csv(path: str) -> tuple[list[str], Iterator[Sequence[str]], int]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file", "check the path") from None
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidInputError(
            f"{path}: cannot be read: {e}", "give a CSV file in UTF-8, or Parquet (.parquet)"
        ) from e
    try:
        rows = [row for row in csv.reader(StringIO(text), strict=True) if row]
    except csv.Error as e:
        raise InvalidInputError(f"{path}: not valid CSV: {e}", "mend the file") from e
    if not rows:
        raise InvalidInputError(f"{path}: the file is empty", "write its header and rows")
    return [name.strip() for name in rows[0]], iter(rows[1:]), 2


def _check_header(path: str, header: Sequence[str]) -> None:
    for name in ("id", "site"):
        if name not in header:
            raise InvalidInputError(
                f"{path}: there is no column {name!r}; the columns are {', '.join(header)}",
                "name each replica in column 'id', and the site of the cluster that it replicates "
                "in column 'site'",
            )
    for name in header:
        if header.count(name) > 1:
            raise InvalidInputError(f"{path}: there are two columns {name!r}", "keep one of them")
        kind, _, key = name.partition(":")
        if name not in _KNOWN[: 2 + len(_PLAIN) + 1] and not (kind in _KEYED and key):
            near = nearest(name, _KNOWN)
            raise InvalidInputError(
                f"{path}: column {name!r} is not known",
                (f"did you mean {near!r}? " if near else "")
                + f"the columns are {', '.join(_KNOWN)}",
            )
    if "rates" in header and any(name.startswith("rates:") for name in header):
        raise InvalidInputError(
            f"{path}: there are a column 'rates' and one of a single job",
            "keep 'rates', of all jobs of a site, or one column rates:JOB for each",
        )


def _number(text: str, column: str, at: str) -> float:
    """Return a cell's number, NaN for an empty one."""
    if not text.strip():
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    whole = not column.startswith("slots") or value == math.floor(value)
    if not math.isfinite(value) or not whole:
        raise InvalidInputError(
            f"{at}: {column} is {text!r}",
            f"give a {'whole ' if column.startswith('slots') else ''}number, or leave the column "
            "empty at every replica of the site: it is as in the cluster then",
        )
    return value


def _given(
    path: str, site: str, ids: Sequence[str], own: Mapping[str, Sequence[float]]
) -> dict[str, NDArray[np.float64]]:
    """Return the columns that a site has values in."""
    found = {}
    for name, values in own.items():
        column = np.array(values, float)
        missing = np.isnan(column)
        if missing.all():
            continue
        if missing.any():
            raise InvalidInputError(
                f"{path}: {name} of replica {ids[int(missing.argmax())]!r} is empty, and others of "
                f"site {site!r} have a value",
                "give each replica of the site a value, or none",
            )
        found[name] = column
    return found
