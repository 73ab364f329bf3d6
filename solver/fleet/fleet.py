"""A fleet: a few kinds of sites, many replicas of each, and the sites that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgeplace.model import Cluster, InvalidInputError, JobGraph, Rules
from edgeplace.solver.arrays import Floats, Ints

_KEYS = {"rates": "job", "cores": "node", "slots": "TaskManager"}


@dataclass(frozen=True)
class Replicas:
    """The number of replicas of a site, and the values that differ: columns of shape (count,).

    What is not given is as in the cluster.

    Attributes
    ----------
    count
        Number of replicas.
    rates
        Job -> factor on the demand of its sources at each replica, above 0.
    cores
        Node -> cores of its replicas.
    slots
        TaskManager -> slots of its replicas.
    bandwidth_bytes_per_s, delay_ms, price_per_byte
        Of each replica's link, both ways.

    Raises
    ------
    InvalidInputError
        If a column is no array of numbers, has another length, or values that are not finite or
        below 0.
    """

    count: int
    rates: Mapping[str, Floats] = field(default_factory=dict)
    cores: Mapping[str, Floats] = field(default_factory=dict)
    slots: Mapping[str, Ints] = field(default_factory=dict)
    bandwidth_bytes_per_s: Floats | None = None
    delay_ms: Floats | None = None
    price_per_byte: Floats | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.count, int | np.integer) or self.count < 1:
            raise InvalidInputError(
                f"a site is there {self.count!r} times", "give a whole number of 1 or more"
            )
        for name in ("rates", "cores", "slots"):
            if not isinstance(getattr(self, name), Mapping):
                raise InvalidInputError(
                    f"{name} of replicas are a {type(getattr(self, name)).__name__}",
                    f"give a dict: {_KEYS[name]} -> array",
                )
        for name, column in self.columns():
            kinds = "iu" if name.startswith("slots") else "iuf"
            if not isinstance(column, np.ndarray) or column.dtype.kind not in kinds:
                of = column.dtype if isinstance(column, np.ndarray) else type(column).__name__
                raise InvalidInputError(
                    f"column {name} is {'an array of ' * isinstance(column, np.ndarray)}{of}",
                    f"give a NumPy array of {'whole ' * (kinds == 'iu')}numbers",
                )
            if column.shape != (self.count,):
                raise InvalidInputError(
                    f"column {name} has shape {column.shape}, and there are {self.count} replicas",
                    f"give an array of shape ({self.count},)",
                )
            least = np.nextafter(0, 1) if name.startswith(("rates", "bandwidth")) else 0
            wrong = ~((column >= least) & np.isfinite(column))
            if wrong.any():
                i = int(wrong.argmax())
                raise InvalidInputError(
                    f"column {name} is {column[i]} at replica {i}",
                    "give a finite number "
                    + (
                        "above 0 (a job that does not run at a site makes another kind of site)"
                        if least
                        else "of 0 or more"
                    ),
                )

    def columns(self) -> list[tuple[str, Floats | Ints]]:
        """Return the columns that are given, with their names."""
        found: list[tuple[str, Floats | Ints]] = []
        for name in ("rates", "cores", "slots"):
            found += [(f"{name}[{key!r}]", v) for key, v in getattr(self, name).items()]
        for name in ("bandwidth_bytes_per_s", "delay_ms", "price_per_byte"):
            if getattr(self, name) is not None:
                found.append((name, getattr(self, name)))
        return found


@dataclass(frozen=True)
class Fleet:
    """Jobs, cluster and rules as for `solve`, with one site of each kind, and how often it is.

    A site with replicas is joined to one other site. The jobs whose sources are born there are
    replicated with it: each replica of a job runs at its own replica of the site and at the sites
    without replicas, which all share.

    Attributes
    ----------
    jobs, cluster, rules
        What `solve` takes; rules that only say where subtasks may run.
    replicas
        Site -> its replicas.

    Raises
    ------
    InvalidInputError
        If no site has replicas.
    """

    jobs: JobGraph | Sequence[JobGraph]
    cluster: Cluster
    replicas: Mapping[str, Replicas]
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        given = self.replicas
        if not (
            isinstance(given, Mapping)
            and given
            and all(isinstance(each, Replicas) for each in given.values())
        ):
            raise InvalidInputError(
                f"the replicas of a fleet are {given!r:.80}",
                "give a dict of one site or more: name -> Replicas",
            )
