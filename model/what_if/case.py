"""A case: the complete input of a placement, and what-if questions on it."""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Self

from edgeplace.model.cluster import Cluster
from edgeplace.model.errors import InvalidInputError
from edgeplace.model.job import JobGraph, Operator, no_such_operator
from edgeplace.model.plan import Plan
from edgeplace.model.rules import Period, Rules
from edgeplace.model.text import did_you_mean
from edgeplace.model.what_if.cluster_changes import (
    with_bandwidth,
    with_cores_of,
    with_node_like,
    with_price,
    with_site_like,
    with_slots_of,
)
from edgeplace.model.what_if.confidence import at_confidence
from edgeplace.model.what_if.fewer_jobs import rules_of_jobs
from edgeplace.model.what_if.lost_site import (
    Left,
    without_links_and_what_they_join,
    without_node_and_its_data,
    without_site_and_its_data,
)
from edgeplace.model.what_if.parallelism import (
    Parallelism,
    rescaled_plan,
    rescaled_rules,
    with_parallelism,
)
from edgeplace.model.what_if.weights import with_weights


@dataclass(frozen=True)
class Case:
    """The complete input of a placement.

    A what-if question is a case that differs in one thing. The methods below return such cases
    and change nothing:

    >>> then = now.with_rates_times(2).without_site("hall-3")  # doctest: +SKIP
    >>> solve_case(now), solve_case(then)  # doctest: +SKIP

    Attributes
    ----------
    jobs
        The jobs, with their costs; they share the cluster.
    cluster
        Without what jobs take that are not placed here.
    current
        Where the subtasks run now.
    lost
        Sites that are lost: nothing runs there.
    beside
        Names of the jobs that take a part of the cluster and are not placed here.
    notes
        What is to be known of the input, and what the changes took away.
    """

    jobs: tuple[JobGraph, ...]
    cluster: Cluster
    rules: Rules | None = None
    current: Plan | None = None
    lost: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name for all jobs together."""
        return ", ".join(job.name for job in self.jobs)

    @property
    def priorities(self) -> dict[str, int]:
        """Name of a job -> its priority."""
        rules = self.rules or Rules()
        return {job.name: rules.priority_of(job.name) for job in self.jobs}

    @property
    def ranked(self) -> bool:
        """Whether some jobs have a higher priority than others."""
        return len(set(self.priorities.values())) > 1

    def with_job(self, job: JobGraph) -> Self:
        """Return the case with another version of the job of this name."""
        jobs = tuple(job if j.name == job.name else j for j in self.jobs)
        return dataclasses.replace(self, jobs=jobs)

    def without_jobs(self, names: Collection[str]) -> Self:
        """Return the case without some jobs, and without what the rules say of them."""
        jobs = tuple(job for job in self.jobs if job.name not in names)
        placed = self.current and {k: v for k, v in self.current.jobs.items() if k not in names}
        return dataclasses.replace(
            self,
            jobs=jobs,
            rules=self.rules and rules_of_jobs(self.rules, jobs),
            current=self.current.model_copy(update={"jobs": placed})
            if self.current and placed
            else None,
        )

    def job_with(self, operator: str) -> JobGraph:
        """Return the job that has an operator, given by id or name; if there is only one job, this
        one.

        Raises
        ------
        InvalidInputError
            If none has it, or several.
        """
        if len(self.jobs) == 1:
            return self.jobs[0]
        found = [j for j in self.jobs if any(operator in (o.id, o.name) for o in j.operators)]
        if len(found) == 1:
            return found[0]
        if not found:
            sources = [o.name for j in self.jobs for o in j.sources()]
            raise no_such_operator(self.jobs, operator, f"the sources are {sources}")
        names = ", ".join(repr(j.name) for j in found)
        raise InvalidInputError(
            f"several of the jobs {names} have an operator {operator!r}",
            "give operators that are alike in several jobs different names",
        )

    def at_confidence(self, probability: float) -> Self:
        """Return the case with CPU costs that are not exceeded with a probability, each by itself.

        Raises
        ------
        InvalidInputError
            If the probability is below 0.5, or not below 1.
        """
        if not 0.5 <= probability < 1:
            raise InvalidInputError(
                f"a confidence of {probability:g} is not a probability from 0.5 to 1",
                "give one such as 0.9",
            )
        jobs = tuple(at_confidence(job, probability) for job in self.jobs)
        return dataclasses.replace(self, jobs=jobs)

    def with_rate(self, source: str, rate_per_s: float) -> Self:
        """Return the case with another rate of a source, in records/s of all its subtasks.

        Raises
        ------
        InvalidInputError
            If there is no such source, or the rate is no number of 0 or more.
        """
        return self.with_job(self.job_with(source).with_source_rate(source, rate_per_s))

    def with_rate_times(self, source: str, factor: float) -> Self:
        """Return the case with the demand of a source multiplied.

        Raises
        ------
        InvalidInputError
            If there is no such source, it has no demand, or the factor is not above 0.
        """
        job = self.job_with(source)
        return self._times(job.name, job.operator(source), factor)

    def with_rates_times(self, factor: float) -> Self:
        """Return the case with the demand of every source multiplied.

        Raises
        ------
        InvalidInputError
            If a source has no demand, or the factor is not above 0.
        """
        case = self
        for job in self.jobs:
            for op in job.sources():
                case = case._times(job.name, op, factor)
        return case

    def with_period_times(self, period: str, factor: float) -> Self:
        """Return the case with the demand of all sources in a period of the day multiplied.

        Raises
        ------
        InvalidInputError
            If there is no such period, or the factor is not above 0.
        """
        _check(factor)
        self._period(period)
        rules = self.rules or Rules()
        demand = (p.times(factor) if p.name == period else p for p in rules.demand)
        rules = rules.model_copy(update={"demand": tuple(demand)})
        return dataclasses.replace(self, rules=rules)

    def with_demand_of(self, period: str) -> Self:
        """Return the case with the demand of a period of the day at all times.

        Raises
        ------
        InvalidInputError
            If there is no such period.
        """
        rules = self.rules or Rules()
        rules = rules.model_copy(update={"demand": (self._period(period),)})
        return dataclasses.replace(self, rules=rules)

    def with_bandwidth(self, source: str, target: str, change: Callable[[float], float]) -> Self:
        """Return the case with another bandwidth, in bytes/s, from one site to another.

        Raises
        ------
        InvalidInputError
            If no link leads there, its bandwidth is not limited, or none of it would be left.
        """
        return dataclasses.replace(
            self, cluster=with_bandwidth(self.cluster, source, target, change)
        )

    def with_node(self, node_class: str, site: str = "") -> Self:
        """Return the case with one more node of a class, with TaskManagers like theirs.

        Parameters
        ----------
        site
            Site of the node; empty: the site of the nodes of this class, if it is only one.

        Raises
        ------
        InvalidInputError
            If there is no such class or site, or it is not clear at which site.
        """
        nodes = self.cluster.nodes
        sites = sorted({n.site for n in nodes if n.node_class == node_class})
        if not site and len(sites) > 1:
            raise InvalidInputError(
                f"it does not say where: nodes of this class are at {sites}",
                f"write node+={node_class}@{sites[0]}, or give Case.with_node a site",
            )
        site = site or (sites or [self.cluster.sites[0].id])[0]
        return dataclasses.replace(self, cluster=with_node_like(self.cluster, node_class, site))

    def with_class(self, node_class: str, other: str) -> Self:
        """Return the case with all nodes of a class of another: with its costs.

        Cores, slots and memory stay as they are.

        Raises
        ------
        InvalidInputError
            If no node is of the class, or nothing is known of the other.
        """
        changed = [n for n in self.cluster.nodes if n.node_class == node_class]
        classes = {n.node_class for n in self.cluster.nodes}
        known = classes | {c.id for c in self.cluster.node_classes}
        for op in (op for job in self.jobs for op in job.operators):
            known |= {c.node_class for c in op.cost.classes} if op.cost else set()
        for name, names in ((node_class, classes), (other, known)):
            if name not in names:
                raise InvalidInputError(
                    f"there is no class {name!r} of nodes",
                    did_you_mean(name, sorted(names), f"the classes are {sorted(names)}"),
                )
        nodes = tuple(
            n.model_copy(update={"node_class": other}) if n in changed else n
            for n in self.cluster.nodes
        )
        note = (
            f"{len(changed)} nodes of class {node_class!r} count as {other!r}, with as many cores, "
            "slots and bytes of memory as before"
        )
        cluster = self.cluster.model_copy(update={"nodes": nodes})
        return dataclasses.replace(self, cluster=cluster, notes=(*self.notes, note))

    def without_site(self, site: str) -> Self:
        """Return the case without a site, and without what only this site joins to the rest.

        Subtasks of sources whose data is born there send nothing and run anywhere: Flink deploys
        all subtasks of a job or none. Other subtasks that a rule holds there have no place left.

        Raises
        ------
        InvalidInputError
            If there is no such site, or checkpoints are stored there.
        """
        return self._without(
            without_site_and_its_data(self.jobs, self.cluster, self.rules, self.current, site)
        )

    def without_node(self, node: str) -> Self:
        """Return the case without a node. Sources whose data is born at it send nothing.

        Raises
        ------
        InvalidInputError
            If there is no such node.
        """
        return self._without(
            without_node_and_its_data(self.jobs, self.cluster, self.rules, self.current, node)
        )

    def without_links(self, ways: Collection[tuple[str, str]]) -> Self:
        """Return the case without some links, given as (source, target), and without the sites that
        nothing else joins to the rest: they are lost as in `without_site`.
        """
        return self._without(
            without_links_and_what_they_join(
                self.jobs, self.cluster, self.rules, self.current, ways
            )
        )

    def with_price(self, ways: Collection[tuple[str, str]], price: str) -> Self:
        """Return the case with another price of a byte on some links, given as (source, target).

        Raises
        ------
        InvalidInputError
            If it is neither a price, as in a cluster file, nor a factor such as `x0.5`.
        """
        return dataclasses.replace(self, cluster=with_price(self.cluster, ways, price))

    def with_slots(self, place: str, change: Callable[[float], float]) -> Self:
        """Return the case with other slots on the TaskManagers of a place.

        Parameters
        ----------
        place
            A site, node, TaskManager or class of nodes, or a pattern such as `vm-*`.

        Raises
        ------
        InvalidInputError
            If there is no such place, or the slots are no whole number of 0 or more.
        """
        return dataclasses.replace(self, cluster=with_slots_of(self.cluster, place, change))

    def with_cores(self, place: str, change: Callable[[float], float]) -> Self:
        """Return the case with other cores on the nodes of a place, as in `with_slots`.

        Raises
        ------
        InvalidInputError
            If there is no such place, or a node would have no cores.
        """
        return dataclasses.replace(self, cluster=with_cores_of(self.cluster, place, change))

    def with_site_like(self, site: str, model: str) -> Self:
        """Return the case with one more site, with machines and links like those of another one.

        Raises
        ------
        InvalidInputError
            If there is no site to copy, or one of the new name.
        """
        return dataclasses.replace(self, cluster=with_site_like(self.cluster, site, model))

    def with_parallelism(self, wanted: Parallelism) -> Self:
        """Return the case with other numbers of subtasks; the rest is mapped by key group.

        Parameters
        ----------
        wanted
            Job name -> operator id -> subtasks; what it does not name stays as it is.

        Raises
        ------
        InvalidInputError
            If an operator cannot have that, with the reason.
        """
        return dataclasses.replace(
            self,
            jobs=tuple(with_parallelism(j, wanted.get(j.name, {})) for j in self.jobs),
            rules=self.rules and rescaled_rules(self.jobs, self.rules, wanted),
            current=self.current and rescaled_plan(self.jobs, self.current, wanted),
        )

    def in_parallelism_of(self, plan: Plan) -> Self:
        """Return the case as a plan has it: with so many subtasks, and streams that send by its
        weights.

        Raises
        ------
        InvalidInputError
            As `with_parallelism` and `with_weights`.
        """
        wanted = {
            job.name: {
                op.id: len(places)
                for op in job.operators
                if (places := plan.jobs.get(job.name, {}).get(op.id))
                and len(places) != op.parallelism
            }
            for job in self.jobs
        }
        case = self.with_parallelism(wanted) if any(wanted.values()) else self
        jobs = with_weights(case.jobs, case.cluster, plan)
        return dataclasses.replace(case, jobs=jobs) if plan.weights else case

    def _period(self, name: str) -> Period:
        demand = self.rules.demand if self.rules else ()
        found = next((p for p in demand if p.name == name), None)
        if found is None:
            names = [p.name for p in demand]
            listed = f"its periods are {', '.join(map(repr, names))}"
            raise InvalidInputError(
                f"the demand has no period {name!r}",
                did_you_mean(name, names, listed)
                if names
                else "give the rules a `demand` with periods",
            )
        return found

    def _without(self, left: Left) -> Self:
        jobs, cluster, rules, lost, notes = left
        return dataclasses.replace(
            self,
            jobs=jobs,
            cluster=cluster,
            rules=rules,
            lost=tuple(dict.fromkeys((*self.lost, *lost))),
            notes=(*self.notes, *notes),
        )

    def _times(self, name: str, op: Operator, factor: float) -> Self:
        _check(factor)
        job = next(j for j in self.jobs if j.name == name)
        demand = op.cost.demand if op.cost else None
        if demand is None:
            # Of an operator with inputs, this says so.
            job.with_source_rate(op.id, 0.0)
            raise InvalidInputError(
                f"source {op.name!r} has no demand to multiply",
                f"give one: --set rate:{op.name}=N, or Case.with_rate",
            )
        each = demand.rates_per_s
        total = sum(each) * (op.parallelism if len(each) == 1 else 1)
        return self.with_job(job.with_source_rate(op.id, factor * total))


def _check(factor: float) -> None:
    if not 0 < factor < float("inf"):
        raise InvalidInputError(
            f"'{factor:g}' is no factor",
            "give a number above 0, such as 0.5; site:ID=lost takes a whole site away",
        )
