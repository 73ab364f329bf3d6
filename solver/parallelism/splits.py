"""The shares of records of each subtask, for each parallelism of a group."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from edgeplace.model import JobGraph, ShipStrategy, Stream
from edgeplace.model.what_if.parallelism import with_parallelism
from edgeplace.solver.arrays import Floats
from edgeplace.solver.parallelism.choice import Combinations, Group, Member
from edgeplace.solver.problem.traffic import key_group_shares

StreamKey = tuple[str, int]
"""Job name and index of the stream in the job."""


@dataclass(frozen=True)
class Split:
    """One parallelism n of a group. A subtask i is drawn with a weight π_i; the weights sum to 1.

    Attributes
    ----------
    n
        The parallelism.
    top
        The largest share of any stream, and the largest weight.
    least, heaviest
        The least and the largest weight.
    into
        Stream into the group -> least quotient of a subtask's share and its weight.
    of
        Operator -> the same for the operator's own records.
    most
        Operator -> share of its records that some subtask gets at least.
    """

    n: int
    top: float
    least: float
    heaviest: float
    into: Mapping[StreamKey, float]
    of: Mapping[Member, float]
    most: Mapping[Member, float]


class Splits:
    """Splits of groups of a choice, computed once each.

    Parameters
    ----------
    active
        The groups of which the parallelism is free; None: all.

    Attributes
    ----------
    free
        Operator -> its group.
    odd
        Operators of which it is not known how records divide: RESCALE or GLOBAL feed them where
        the parallelism is free, or FORWARD and RESCALE from such an operator.
    loose
        Streams that join subtasks in another way in each parallelism.
    """

    def __init__(
        self, jobs: Sequence[JobGraph], choice: Combinations, active: Collection[int] | None = None
    ) -> None:
        self._jobs = {j.name: j for j in jobs}
        self._choice = choice
        self.free: dict[Member, int] = {
            m: g
            for g, group in enumerate(choice.groups)
            if active is None or g in active
            for m in group.members
        }
        self.loose: set[StreamKey] = set()
        self.odd: set[Member] = set()
        for job in jobs:
            self._mark(job)
        self.at = cache(self._at)

    def _mark(self, job: JobGraph) -> None:
        for i, s in enumerate(job.streams):
            a, b = (job.name, s.source), (job.name, s.target)
            touches = a in self.free or b in self.free
            if (s.ship_strategy is ShipStrategy.RESCALE and touches) or (
                s.ship_strategy is ShipStrategy.GLOBAL and b in self.free
            ):
                self.loose.add((job.name, i))
                self.odd.add(b)
        grown = True
        while grown:
            more = {
                (job.name, s.target)
                for s in job.streams
                if (job.name, s.source) in self.odd
                and s.ship_strategy in (ShipStrategy.FORWARD, ShipStrategy.RESCALE)
            } - self.odd
            grown = bool(more)
            self.odd |= more

    def _at(self, g: int, n: int) -> Split:
        group = self._choice.groups[g]
        shares = {
            (job, i): self._shares(self._jobs[job], i, s, group, n)
            for job, i, s in self._inputs(group)
        }
        keyed = [
            v
            for (job, i), v in shares.items()
            if self._jobs[job].streams[i].ship_strategy is ShipStrategy.HASH
        ]
        weight = keyed[0] if keyed else np.full(n, 1 / n)
        top = max(float(v.max()) for v in (weight, *shares.values()))
        drawn = weight > 0
        into = {
            key: float((v[drawn] / weight[drawn]).min()) if key not in self.loose else 0.0
            for key, v in shares.items()
        }
        of: dict[Member, float] = {}
        most: dict[Member, float] = {}
        for m in self._in_order(group):
            mine = [
                of[m[0], s.source] if s.ship_strategy is ShipStrategy.FORWARD else into[m[0], i]
                for i, s in enumerate(self._jobs[m[0]].streams)
                if s.target == m[1]
            ]
            of[m] = 0.0 if m in self.odd else min((*mine, 1.0))
            heavy = [
                most[m[0], s.source]
                if s.ship_strategy is ShipStrategy.FORWARD
                else float(shares[m[0], i].max())
                for i, s in enumerate(self._jobs[m[0]].streams)
                if s.target == m[1]
            ]
            # Of several inputs the largest shares may go to different subtasks.
            known = len(heavy) == 1 and m not in self.odd
            most[m] = heavy[0] if known else 1 / n
        return Split(n, top, float(weight[drawn].min()), float(weight.max()), into, of, most)

    def _inputs(self, group: Group) -> list[tuple[str, int, Stream]]:
        return [
            (job, i, s)
            for job, op in group.members
            for i, s in enumerate(self._jobs[job].streams)
            if s.target == op and s.ship_strategy is not ShipStrategy.FORWARD
        ]

    def _in_order(self, group: Group) -> list[Member]:
        """Return the members, producers first."""
        left = list(group.members)
        done: list[Member] = []
        while left:
            for m in left:
                before = {
                    (m[0], s.source)
                    for s in self._jobs[m[0]].streams
                    if s.target == m[1] and s.ship_strategy is ShipStrategy.FORWARD
                }
                if before <= set(done):
                    done.append(m)
                    left.remove(m)
                    break
        return done

    def _shares(self, job: JobGraph, i: int, stream: Stream, group: Group, n: int) -> Floats:
        """Return the share of a stream that each of n subtasks gets."""
        if stream.ship_strategy is not ShipStrategy.HASH or (job.name, i) in self.loose:
            return np.full(n, 1 / n)
        if stream.cost and stream.cost.shares:
            wanted = {op: n for name, op in group.members if name == job.name}
            cost = with_parallelism(job, wanted).streams[i].cost
            return np.array(cost.shares if cost else ())
        return key_group_shares(n, job.operator(stream.target).max_parallelism)
