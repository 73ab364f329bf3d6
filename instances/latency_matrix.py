"""Instances over sites whose round-trip times were measured, from a square CSV file."""

import csv
import math
from pathlib import Path

from edgeplace.instances.draws import Draws, rounded
from edgeplace.instances.instance import Instance
from edgeplace.instances.network_case import network_case
from edgeplace.model import InvalidInputError, Link


def latency_matrix(path: str | Path, edge_sites: int, seed: int) -> Instance:
    """Return an instance over sites drawn from a matrix of round-trip times in milliseconds.

    Row and column i are site i. Every pair with a time has a link in each direction with half of
    this time. An empty, negative or non-numeric cell means that the pair was not measured. The
    cloud is the site with the least mean time to the others.

    Raises
    ------
    InvalidInputError
        If the file is not a square of numbers, or has too few sites that are connected.
    """
    times = _read(Path(path))
    if not 1 <= edge_sites < len(times):
        raise InvalidInputError(
            f"{path}: {len(times)} sites, one of them the cloud, cannot have {edge_sites} at the "
            "edge",
            f"ask for 1 to {len(times) - 1}",
        )
    draws = Draws("latency-matrix", Path(path).stem, edge_sites, seed)
    chosen = draws.some_of(range(len(times)), edge_sites + 1)

    def mean(i: int) -> float:
        return math.fsum(t if (t := times[i][j]) is not None else 1e4 for j in chosen if j != i)

    cloud = min(chosen, key=mean)
    edge = [i for i in chosen if i != cloud]
    links = []
    for n, a in enumerate(chosen):
        for b in chosen[n + 1 :]:
            there, back = times[a][b], times[b][a]
            for source, target, ms in ((a, b, there), (b, a, back)):
                if ms is not None:
                    links.append(
                        Link(source=f"s{source}", target=f"s{target}", delay_ms=rounded(ms / 2))
                    )
    reached = {(link.source, link.target) for link in links}
    cut_off = [i for i in edge if (f"s{i}", f"s{cloud}") not in reached]
    if cut_off:
        raise InvalidInputError(
            f"{path}: no time is given between site {cut_off[0]} and site {cloud}, the cloud",
            "give another seed or a fuller matrix",
        )
    return network_case(
        f"latency-{Path(path).stem}-{edge_sites}-{seed}",
        [f"s{i}" for i in chosen],
        f"s{cloud}",
        [f"s{i}" for i in edge],
        links,
        draws,
    )


def _read(path: Path) -> list[list[float | None]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [[_number(cell) for cell in row] for row in csv.reader(file) if row]
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file", "check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise InvalidInputError(f"{path}: cannot be read: {e}", "is the file whole?") from e
    for n, row in enumerate(rows, start=1):
        if len(row) != len(rows):
            raise InvalidInputError(
                f"{path}:{n}: {len(row)} cells in a matrix of {len(rows)} rows",
                "give a square of round-trip times, without titles",
            )
    if len(rows) < 2 or not any(t is not None and t > 0 for row in rows for t in row):
        raise InvalidInputError(
            f"{path}: no matrix of round-trip times",
            "give a square of milliseconds, without titles",
        )
    return rows


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
