"""A first project: the documents that a folder has already, and examples of those it lacks."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel

from edgeplace.adapters.flink import load_job
from edgeplace.model import (
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    Operator,
    OwnData,
    Rules,
    load,
    looks_like,
    parse,
    read,
)

JOB_FILE, CLUSTER_FILE, RULES_FILE = "job.yaml", "cluster.yaml", "rules.yaml"
D = TypeVar("D", bound=BaseModel)

_JOB, _CLUSTER = "edgeplace/job-graph", "edgeplace/cluster"
_COSTS, _RULES = "edgeplace/costs", "edgeplace/rules"
_ENDINGS = (".yaml", ".yml", ".json", ".csv")
_MOST_BYTES = 16 << 20
_CLOUD, _ANYWHERE = "cloud", "anywhere"
_EDGE_CLASS, _SERVER_CLASS = "pi", "server"
_PLACES = ("north", "south")
"""Sites of the example."""
_MOST_PLACES = 3
"""Sites of a given cluster that have a source in the example job."""


@dataclass
class Documents:
    """The documents that a project is made of, by the name of the file."""

    jobs: dict[str, JobGraph] = field(default_factory=dict)
    """With their costs."""
    clusters: dict[str, Cluster] = field(default_factory=dict)
    costs: dict[str, Costs] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    placed: set[str] = field(default_factory=set)
    """Names of the jobs of which it is known where their subtasks run now."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Files that look like documents, and why they are not taken."""

    def cluster(self) -> str | None:
        """Return the cluster file: `cluster.yaml`, or else the first."""
        return _preferred(list(self.clusters), CLUSTER_FILE)

    def rules_file(self) -> str | None:
        """Return the rules file: `rules.yaml`, or else the first."""
        return _preferred(self.rules, RULES_FILE)

    def where_known(self) -> list[JobGraph]:
        """Return the jobs of which it is known where their subtasks run now."""
        return [job for job in self.jobs.values() if job.name in self.placed]


def documents_in(folder: Path, given: Sequence[str] = ()) -> Documents:
    """Return the jobs, clusters, costs and rules that are given, or else lie in a folder.

    Costs are those of the jobs, and of two jobs or costs of one name the first is taken.

    Parameters
    ----------
    given
        Files in place of those of their kind in the folder.

    Raises
    ------
    InvalidInputError
        If a given file is no document of a project, or the second of what there is once.
    """
    found, there = Documents(), Documents()
    for name in given:
        _take(found, name, _kind_of_given(name))
    for path in sorted(folder.iterdir()):
        if path.suffix not in _ENDINGS or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            continue
        if any(path.samefile(name) for name in given):
            continue
        try:
            _take(there, path.name, _kind_of(load(path)))
        except InvalidInputError as e:
            there.left_out[path.name] = _first_mistake(e)
    _fill(found, there)
    names = {job.name for job in found.jobs.values()}
    found.costs = {file: costs for file, costs in found.costs.items() if costs.job in names}
    measured = {costs.job: costs for costs in found.costs.values()}
    found.placed |= {name for name, costs in measured.items() if costs.placement}
    for file, job in found.jobs.items():
        with suppress(InvalidInputError):  # `validate` says what does not fit.
            if job.name in measured:
                found.jobs[file] = job.with_costs(measured[job.name])
    return found


def _first_mistake(error: InvalidInputError) -> str:
    """Return the first line of what is wrong with a file, and where."""
    what, line = error.what, None
    if error.mistakes:
        what, _, line = error.mistakes[0]
    return what.partition("\n")[0] + (f", line {line}" if line else "")


def _fill(found: Documents, there: Documents) -> None:
    """Take from a folder what is not given; refuse, or name, what is there twice."""
    for kind in ("clusters", "rules"):
        if len(files := list(getattr(found, kind))) > 1:
            found.left_out[files[1]] = f"{files[0]} is given, too"
    for file, why in found.left_out.items():
        raise InvalidInputError(f"{file}: {why}", "leave one of them out")
    for kind in ("jobs", "clusters", "costs", "rules"):
        if not getattr(found, kind):
            setattr(found, kind, getattr(there, kind))
    found.placed |= there.placed
    found.left_out = there.left_out
    for files, one in (
        (list(there.clusters), found.cluster()),
        (there.rules, found.rules_file()),
    ):
        found.left_out |= {file: f"{one} is taken" for file in files if file != one}


def _kind_of(data: Any) -> str | None:
    """Return the format of a document, also of a job in Flink's form."""
    if isinstance(data, dict) and "jid" in data and isinstance(data.get("vertices"), list):
        return _JOB
    return looks_like(data)


def _kind_of_given(name: str) -> str:
    """Return the format of a document; what is of no other kind has to be a job."""
    kind = None
    with suppress(InvalidInputError):
        kind = None if Path(name).is_dir() else _kind_of(load(name))
    if kind not in (None, _JOB, _CLUSTER, _COSTS, _RULES):
        raise InvalidInputError(
            f"{name} is no file of a job, a cluster, costs or rules", "leave it out"
        )
    return kind or _JOB


def _take(found: Documents, name: str, kind: str | None) -> None:
    """Add a document; leave out one of a job that has such a document."""
    first: str | None = None
    if kind == _CLUSTER:
        found.clusters[name] = read(name, Cluster)
    elif kind == _RULES:
        read(name, Rules)
        found.rules.append(name)
    elif kind == _COSTS:
        costs = read(name, Costs)
        first = next((f for f, other in found.costs.items() if other.job == costs.job), None)
        if first:
            found.left_out[name] = f"{first} has costs of job {costs.job!r}, too"
        else:
            found.costs[name] = costs
    elif kind == _JOB:
        job, seen = load_job(name)
        first = next((f for f, other in found.jobs.items() if other.name == job.name), None)
        if first:
            found.left_out[name] = f"{first} has a job named {job.name!r}, too"
        else:
            found.jobs[name] = job
            found.placed |= {job.name} if seen else set()


def project_text(
    jobs: Sequence[str],
    cluster: str,
    costs: Sequence[str],
    rules: str | None,
    jobmanager: str | None,
    paid: bool,
    priced: bool,
) -> str:
    """Return the text of a project file.

    Parameters
    ----------
    paid
        Whether the bytes between sites are paid for; if not, latency goes before them.
    priced
        Whether the cluster says in which currency.
    """
    lines = [
        "# What the commands of edgeplace take in this folder, unless they are given files.",
        "# Paths start from this folder.",
        f"jobs: {_flow(jobs)}",
        f"cluster: {_flow(cluster)}",
        f"costs: {_flow(costs)}"
        if costs
        else "# costs: [costs.json]               # made by `edgeplace costs`, one file a job",
        f"rules: {_flow(rules)}"
        if rules
        else "# rules: rules.yaml                  # what plans must respect",
    ]
    if not paid:
        lines += ["# Bytes are not paid for: latency goes before them.", "optimise: latency"]
    elif priced:
        lines += ["# Bytes are paid for: what a plan costs a month comes first.", "optimise: money"]
    else:
        lines += [
            "# Bytes are paid for. Give the cluster a currency and its links prices, and ask for",
            "# optimise: money",
        ]
    lines.append(
        f"jobmanager: {_flow(jobmanager)}"
        if jobmanager
        else "# jobmanager: http://localhost:8081  # for `edgeplace flink ...`"
    )
    return "\n".join(lines) + "\n"


def rules_text(
    stay_on_site: Sequence[tuple[str, Sequence[str]]],
    never_move: Sequence[tuple[str, Sequence[str]]],
    own_data: Sequence[OwnData] = (),
) -> str:
    """Return the text of a rules file.

    Parameters
    ----------
    stay_on_site, never_move
        The operators of each job, behind the job's name; it is empty if there is one job.
    """
    lines = ["rules:"]
    if own_data:
        lines.append("  # An edge site serves another site's data only if open_sites names it.")
    lines += [f"  - {own_data_text(rule)}" for rule in own_data]
    for kind, why, of_jobs in (
        ("stay_on_site", "Their input does not leave the site where it is produced.", stay_on_site),
        ("never_move", "They stay where they run now.", never_move),
    ):
        lines += [f"  # {why}"] if of_jobs else []
        lines += [
            f"  - {{kind: {kind}, {_of_job(job)}operators: {_flow(names)}}}"
            for job, names in of_jobs
        ]
    return "\n".join(lines) + "\n"


def _of_job(job: str) -> str:
    return f"job: {_flow(job)}, " if job else ""


def own_data_text(rule: OwnData) -> str:
    """Return a rule as YAML on one line."""
    opened = f", open_sites: {_flow(rule.open_sites)}" if rule.open_sites else ""
    return f"{{kind: own_data, {_of_job(rule.job)}operators: {_flow(rule.operators)}{opened}}}"


def example_cluster(jobs: Sequence[JobGraph], paid: bool) -> str:
    """Return the text of a cluster file to edit, with the places and classes that jobs name."""
    sites = _sites_of(jobs) if jobs else dict.fromkeys(_PLACES, 1)
    edge, server = _classes_of(jobs)
    at_cloud = sum(
        max(op.parallelism for op in job.operators if op.slot_sharing_group == group)
        for job in jobs
        for group in {op.slot_sharing_group for op in job.operators}
    )
    slots = max([8, math.ceil(at_cloud / 2), *(op.parallelism for j in jobs for op in j.operators)])
    edge_slots = max([4, *(_born_there(jobs, site) for site in sites)])
    unlike = len(edge) > 1
    machines = {name: (4, edge_slots) for name in edge} | {name: (16, slots) for name in server}

    def nodes(of: str, classes: Sequence[str], count: str = "") -> str:
        several = len(classes) > 1
        listed = (
            f"{{id: {of}{f'-{k}' if several else ''}{count and '-*'}{count}, "
            f"node_class: {_flow(name)}}}"
            for k, name in enumerate(classes, 1)
        )
        return f"nodes: [{', '.join(listed)}]"

    lines = [
        "# An example to edit: your sites, machines and links.",
        "# Quantities may have units: 10 Mbit/s, 40 ms, 4 GB.",
        *(["currency: EUR"] if paid else []),
        *(
            ["# No class has all costs: the others are estimated by these speeds."]
            if unlike
            else []
        ),
        "node_classes:",
        *(
            f"  - {{id: {_flow(name)}, cores: {cores}, slots: {each}{', speed: 1' * unlike}}}"
            for name, (cores, each) in machines.items()
        ),
        "sites:",
        f"  - {{id: {_CLOUD}, tier: cloud, {nodes('server', server, ', count: 2')}}}",
        "  # Sites that are alike: {id: depot-*, count: 40, "
        f"{nodes(_EDGE_CLASS, edge, ', count: 3')}}}",
        *(
            f"  - {{id: {_flow(site)}{f', count: {count}' if '*' in site else ''}, "
            f"{nodes(_EDGE_CLASS, edge)}}}"
            for site, count in sites.items()
        ),
    ]
    if sites:
        price = ", price_per_byte: 4 EUR/GB" if paid else ""
        lines += [
            "links:",
            "  # One line for all sites; a line that names its site goes before it.",
            f'  - {{source: "*", target: {_CLOUD}, bandwidth_bytes_per_s: 10 Mbit/s, '
            f"delay_ms: 20 ms{price}, both_ways: true}}",
        ]
    lines.append(f"checkpoint_storage: {_CLOUD}")
    return "\n".join(lines) + "\n"


def _sites_of(jobs: Sequence[JobGraph]) -> dict[str, int]:
    """Return the ids of sites where all data is born, a pattern with the number of its sites."""
    sources = [op for job in jobs for op in job.operators if op.born_at]
    born = dict.fromkeys(place for op in sources for place in op.born_at)
    sites = {place: 1 for place in born if "*" not in place and place not in (_ANYWHERE, _CLOUD)}
    groups: dict[str, int] = {}

    def fitting(op: Operator) -> int:
        there = {_CLOUD, *sites, *(id for g, count in groups.items() for id in _ids(g, count))}
        return sum(any(fnmatchcase(id, pattern) for pattern in op.born_at) for id in there)

    # Narrow patterns first: wide ones count their sites, too.
    for op in sorted(sources, key=lambda op: (len(op.born_at), -max(map(len, op.born_at)))):
        new = [p for p in dict.fromkeys(op.born_at) if "*" in p and _one_star(p) not in groups]
        for k, pattern in enumerate(new):
            there = fitting(op)
            more = (op.parallelism - there) // (len(new) - k)
            if more > 0:
                group = _one_star(pattern)
                groups[group] = more
                # Some of its sites may be named already.
                while fitting(op) < there + more and groups[group] < op.parallelism:
                    groups[group] += 1
    made = {id for group, count in groups.items() for id in _ids(group, count)}
    return {site: 1 for site in sites if site not in made} | groups


def _one_star(pattern: str) -> str:
    """Return a pattern with one place for the number of a site."""
    first, _, rest = pattern.partition("*")
    return f"{first}*{rest.replace('*', '1')}"


def _ids(group: str, count: int) -> list[str]:
    """Return the ids of sites that are alike, as a cluster file numbers them."""
    return [group.replace("*", f"{n:0{len(str(count))}}") for n in range(1, count + 1)]


def _born_there(jobs: Sequence[JobGraph], site: str) -> int:
    """Return the slots that sources need at a site, or at each of a group."""
    one = site.replace("*", "1")
    needed: dict[tuple[str, str], int] = {}
    for job in jobs:
        for op in job.operators:
            alone = op.born_at == (one,)
            born = op.parallelism if alone else sum(fnmatchcase(one, p) for p in op.born_at)
            key = job.name, op.slot_sharing_group
            needed[key] = max(needed.get(key, 0), born)
    return sum(needed.values())


def example_job(cluster: Cluster | None, name: str = "example") -> str:
    """Return the text of a job file to edit, for the sites and classes of a cluster."""
    places: Sequence[str] = _PLACES
    classes: Mapping[str, float] = {_EDGE_CLASS: 1.0, _SERVER_CLASS: 4.0}
    if cluster is not None:
        there = {node.site for node in cluster.nodes}
        sites = [site for site in cluster.sites if site.id in there]
        edges = [site.id for site in sites if site.tier == "edge"]
        # Where only one link ends, as at depots: the others are hubs.
        ends = Counter(end for a in cluster.directed_links() for end in (a.source, a.target))
        edges = [site for site in edges if ends[site] <= 2] or edges
        places = (edges or [site.id for site in sites])[:_MOST_PLACES]
        classes = dict.fromkeys((node.node_class for node in cluster.nodes), 1.0)

    def rates(each: int) -> str:
        listed = (
            f"{{node_class: {_flow(name)}, true_rate_per_s: {each * speed:g}}}"
            for name, speed in classes.items()
        )
        return f"[{', '.join(listed)}]"

    n = len(places)
    return f"""\
# An example to edit: readings of sensors, filtered, and summed up by minute.
# Another source is an operator with born_at and demand, and a stream to what reads it.
name: {_flow(name)}
operators:
  - id: sensors
    name: sensors
    parallelism: {n}
    born_at: {_flow(places)}     # where the data of each subtask is born
    cost:
      demand: {{rates_per_s: 200 /s}}  # of each subtask; a list has one figure for each
      # Records per second that one subtask could process, on each class of nodes.
      classes: {rates(5000)}
  - id: filter
    name: filter
    parallelism: {n}
    cost:
      selectivity: 0.2               # records out per record in
      classes: {rates(2000)}
  - id: by-minute
    name: by-minute
    parallelism: 1
    cost:
      selectivity: 0.01
      state_bytes: 10 MB             # of all subtasks
      classes: {rates(3000)}
  - id: sink
    name: sink
    parallelism: 1
    cost:
      classes: {rates(3000)}
streams:
  - {{source: sensors, target: filter, ship_strategy: FORWARD, cost: {{bytes_per_record: 500}}}}
  - {{source: filter, target: by-minute, ship_strategy: HASH, cost: {{bytes_per_record: 300}}}}
  - {{source: by-minute, target: sink, ship_strategy: FORWARD, cost: {{bytes_per_record: 100}}}}
"""


def text_as(text: str, kind: type[D]) -> D:
    """Return an example as the document that it is."""
    return parse(yaml.safe_load(text), kind, "the example")


def _classes_of(jobs: Sequence[JobGraph]) -> tuple[list[str], list[str]]:
    """Return the classes of edge nodes and of servers.

    These are the slowest and the fastest that all costs of jobs know; if they know no class in
    common, all of them.
    """
    rates: dict[str, float] = {}
    common: set[str] | None = None
    for cost in (op.cost for job in jobs for op in job.operators if op.cost and op.cost.classes):
        own = {c.node_class: c.true_rate_per_s for c in cost.classes}
        common = set(own) if common is None else common & set(own)
        for name, rate in own.items():
            rates[name] = rates.get(name, 0.0) + rate
    if common is None:
        return [_EDGE_CLASS], [_SERVER_CLASS]
    if not common:
        return list(rates), list(rates)
    ordered = sorted(common, key=lambda name: (rates[name], name))
    return ordered[:1], ordered[-1:]


def _preferred(files: Sequence[str], name: str) -> str | None:
    return name if name in files else next(iter(files), None)


def _flow(value: str | Sequence[str]) -> str:
    """Return a text or a list of texts as YAML on one line."""
    if not isinstance(value, str):
        return f"[{', '.join(map(_flow, value))}]"
    plain = value[:1].isalpha() and all(c.isalnum() or c in "-_./" for c in value)
    words = ("yes", "no", "on", "off", "true", "false", "null", "y", "n")
    is_url = value.startswith(("http://", "https://")) and not set(value) & set(" ,[]{}#'\"")
    return value if is_url or (plain and value.lower() not in words) else json.dumps(value)
