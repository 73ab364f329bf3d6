"""A first project: the documents that a folder has already, and examples of those it lacks."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from edgeplace.model import (
    Cluster,
    Costs,
    InvalidInputError,
    JobGraph,
    OwnData,
    load,
    looks_like,
    read,
)

JOB_FILE, CLUSTER_FILE, RULES_FILE = "job.yaml", "cluster.yaml", "rules.yaml"
_ENDINGS = (".yaml", ".yml", ".json", ".csv")
_MOST_BYTES = 16 << 20
_CLOUD = "cloud"
_EDGE_CLASS, _SERVER_CLASS = "pi", "server"
_PLACES = ("north", "south")
"""Sites of the example."""
_MOST_PLACES = 3
"""Sites of a given cluster that have a source in the example job."""


@dataclass
class Documents:
    """The documents in a folder, by the name of the file."""

    jobs: dict[str, JobGraph] = field(default_factory=dict)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    costs: dict[str, Costs] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)

    def cluster(self) -> str | None:
        """Return the cluster file: `cluster.yaml`, or else the first."""
        return _preferred(list(self.clusters), CLUSTER_FILE)

    def rules_file(self) -> str | None:
        """Return the rules file: `rules.yaml`, or else the first."""
        return _preferred(self.rules, RULES_FILE)


def documents_in(folder: Path) -> Documents:
    """Return the valid jobs, clusters, costs and rules in a folder.

    Costs are those of the jobs, and of two jobs or costs of one name the first is taken.
    """
    found = Documents()
    for path in sorted(folder.iterdir()):
        if path.suffix not in _ENDINGS or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            continue
        with suppress(InvalidInputError):
            match looks_like(load(path)):
                case "edgeplace/job-graph":
                    job = read(path, JobGraph)
                    if job.name not in {other.name for other in found.jobs.values()}:
                        found.jobs[path.name] = job
                case "edgeplace/cluster":
                    found.clusters[path.name] = read(path, Cluster)
                case "edgeplace/costs":
                    costs = read(path, Costs)
                    if costs.job not in {other.job for other in found.costs.values()}:
                        found.costs[path.name] = costs
                case "edgeplace/rules":
                    found.rules.append(path.name)
    names = {job.name for job in found.jobs.values()}
    found.costs = {file: costs for file, costs in found.costs.items() if costs.job in names}
    return found


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
    stay_on_site: Sequence[str], never_move: Sequence[str], own_data: Sequence[OwnData] = ()
) -> str:
    """Return the text of a rules file."""
    lines = ["rules:"]
    if own_data:
        lines.append("  # An edge site serves another site's data only if open_sites names it.")
    lines += [f"  - {own_data_text(rule)}" for rule in own_data]
    if stay_on_site:
        lines += [
            "  # Their input does not leave the site where it is produced.",
            f"  - {{kind: stay_on_site, operators: {_flow(stay_on_site)}}}",
        ]
    if never_move:
        lines += [
            "  # They stay where they run now.",
            f"  - {{kind: never_move, operators: {_flow(never_move)}}}",
        ]
    return "\n".join(lines) + "\n"


def own_data_text(rule: OwnData) -> str:
    """Return a rule as YAML on one line."""
    opened = f", open_sites: {_flow(rule.open_sites)}" if rule.open_sites else ""
    job = f"job: {_flow(rule.job)}, " if rule.job else ""
    return f"{{kind: own_data, {job}operators: {_flow(rule.operators)}{opened}}}"


def own_data_rules(jobs: Sequence[JobGraph], cluster: Cluster | None) -> tuple[OwnData, ...]:
    """Return rules that keep data away from edge sites where other data is born.

    Edge sites where nothing is born serve others: regional servers, for one. Without an open site
    there is no such rule: what gets data of several sites would have no place.
    """
    if cluster is None or any(not op.born_at for job in jobs for op in job.sources()):
        return ()
    site_of = {n.id: n.site for n in cluster.nodes}
    there = [s for s in cluster.sites if s.id in site_of.values()]
    site_of |= {t.id: site_of[t.node] for t in cluster.task_managers} | {s.id: s.id for s in there}
    named = {p for job in jobs for op in job.sources() for p in op.born_at}
    births = {s for place, s in site_of.items() if any(fnmatchcase(place, p) for p in named)}
    opened = tuple(s.id for s in there if s.tier == "edge" and s.id not in births)
    if not opened and all(s.tier == "edge" for s in there):
        return ()
    found = []
    for job in jobs:
        sources = {op.id for op in job.sources()}
        names = [op.name for op in job.operators]
        others = tuple(
            op.name if names.count(op.name) == 1 else op.id
            for op in job.operators
            if op.id not in sources
        )
        name = job.name if len(jobs) > 1 else ""
        if others:
            found.append(OwnData(operators=others, job=name, open_sites=opened))
    return tuple(found)


def example_cluster(jobs: Sequence[JobGraph], paid: bool) -> str:
    """Return the text of a cluster file to edit, with the places and classes that jobs name."""
    born = {p: op.parallelism for job in jobs for op in job.operators for p in op.born_at}
    places = [p for p in born if p not in ("anywhere", _CLOUD)] or ([] if jobs else list(_PLACES))
    edge, server = _classes_of(jobs)
    slots = max([8, *(op.parallelism for job in jobs for op in job.operators)])
    lines = [
        "# An example to edit: your sites, machines and links.",
        "# Quantities may have units: 10 Mbit/s, 40 ms, 4 GB.",
        *(["currency: EUR"] if paid else []),
        "node_classes:",
        f"  - {{id: {_flow(edge)}, cores: 4, slots: {4 if edge != server else slots}}}",
        *([f"  - {{id: {_flow(server)}, cores: 16, slots: {slots}}}"] if edge != server else []),
        "sites:",
        f"  - {{id: {_CLOUD}, tier: cloud, nodes: "
        f"[{{id: server-*, count: 2, node_class: {_flow(server)}}}]}}",
        "  # Sites that are alike: {id: depot-*, count: 40, nodes: "
        f"[{{id: {_EDGE_CLASS}-*, count: 3, node_class: {_flow(edge)}}}]}}",
        *(
            f"  - {{{_group(place, born.get(place, 1))}, nodes: "
            f"[{{id: {_EDGE_CLASS}, node_class: {_flow(edge)}}}]}}"
            for place in places
        ),
    ]
    if places:
        price = ", price_per_byte: 4 EUR/GB" if paid else ""
        lines += [
            "links:",
            "  # One line for all sites; a line that names its site goes before it.",
            f'  - {{source: "*", target: {_CLOUD}, bandwidth_bytes_per_s: 10 Mbit/s, '
            f"delay_ms: 20 ms{price}, both_ways: true}}",
        ]
    lines.append(f"checkpoint_storage: {_CLOUD}")
    return "\n".join(lines) + "\n"


def example_job(cluster: Cluster | None) -> str:
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
name: example
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


def knows_where_it_runs(found: Documents) -> bool:
    """Return whether the costs say where the subtasks of each job run now."""
    placed = {costs.job for costs in found.costs.values() if costs.placement}
    return bool(found.jobs) and placed >= {job.name for job in found.jobs.values()}


def _classes_of(jobs: Sequence[JobGraph]) -> tuple[str, str]:
    """Return the slowest and the fastest class that all costs of jobs know."""
    rates: dict[str, float] = {}
    common: set[str] | None = None
    for cost in (op.cost for job in jobs for op in job.operators if op.cost and op.cost.classes):
        own = {c.node_class: c.true_rate_per_s for c in cost.classes}
        common = set(own) if common is None else common & set(own)
        for name, rate in own.items():
            rates[name] = rates.get(name, 0.0) + rate
    if not common:
        return _EDGE_CLASS, _SERVER_CLASS
    ordered = sorted(common, key=lambda name: (rates[name], name))
    return ordered[0], ordered[-1]


def _group(place: str, count: int) -> str:
    """Return the id of a site, or of as many as a pattern stands for."""
    if "*" not in place:
        return f"id: {_flow(place)}"
    first, _, rest = place.partition("*")
    name = f"{first}*{rest.replace('*', '1')}"
    return f"id: {_flow(name)}, count: {count}"


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
