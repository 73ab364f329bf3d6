"""The monthly bill of a plan, item by item."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import count, counted, exact, size
from edgeplace.model import HOUR_S, MONTH_S, Cluster, Evaluation, Limit
from edgeplace.views.terms import Terms

Row = tuple[str, str, str, str]
"""What is paid for, how much of it is used in a month, its price, and the money."""
_GB = 1e9


def columns(terms: Terms) -> Row:
    """Return the titles of the rows."""
    return ("paid for", ">used", ">price", f">{terms.money}")


def bill(cluster: Cluster, found: Evaluation) -> list[Row]:
    """Return a row for the links, and for the nodes, of each price, then the total.

    Links without a price and links that carry nothing are left out. Without a currency, or if
    nothing costs anything, there is no row.
    """
    if cluster.currency is None:
        return []
    rows = [*_links(cluster, found), *_cores(cluster, found), *_nodes(cluster, found)]
    return [*rows, ("total", "", "", count(found.cost_per_month))] if rows else []


def show_bill(console: Console, cluster: Cluster, found: Evaluation) -> None:
    """Print what a plan costs, item by item, if the cluster has prices in money."""
    rows = bill(cluster, found)
    if rows:
        console.heading("what it costs a month")
        console.table(columns(Terms.of(cluster)), rows)


def _mean(found: Evaluation, listed: Callable[[Evaluation], Iterable[Limit]]) -> dict[str, float]:
    """Return what is used on average: over a day, limits say what is used at most."""
    used: dict[str, float] = defaultdict(float)
    for share, each in [(p.share, p.evaluation) for p in found.periods] or [(1.0, found)]:
        for limit in listed(each):
            used[limit.where] += share * limit.used
    return used


def _links(cluster: Cluster, found: Evaluation) -> Iterator[Row]:
    used = _mean(found, lambda e: e.links)
    volumes = {(a.source, a.target) for a in cluster.directed_links() if a.included_bytes}
    carried: dict[tuple[float, float], dict[tuple[str, ...], float]] = defaultdict(dict)
    for link in cluster.directed_links():
        ends = (link.source, link.target)
        # Opposite links that share a volume are one item.
        item = tuple(sorted(ends)) if ends in volumes and ends[::-1] in volumes else ends
        of_price = carried[link.price_per_byte, link.included_bytes]
        of_price[item] = of_price.get(item, 0.0) + MONTH_S * used.get(" -> ".join(ends), 0.0)
    for (price, included), items in sorted(carried.items(), reverse=True):
        each = [bytes_ for bytes_ in items.values() if bytes_]
        if not price or not each:
            continue
        name = counted(len(each), "links")
        if included:
            name += f", {size(included)} included in each"
        money = price * sum(max(bytes_ - included, 0.0) for bytes_ in each)
        per_gb = f"{exact(price * _GB)} {cluster.currency}/GB"
        yield name, size(sum(each)), per_gb, count(money)


def _cores(cluster: Cluster, found: Evaluation) -> Iterator[Row]:
    used = _mean(found, lambda e: e.nodes)
    by_price: dict[float, list[float]] = defaultdict(list)
    for node in cluster.nodes:
        if node.price_per_core_hour and used.get(node.id):
            by_price[node.price_per_core_hour].append(used[node.id])
    for price, each in sorted(by_price.items(), reverse=True):
        name = f"busy cores of {counted(len(each), 'nodes')}"
        yield name, *_time(sum(each), "core ", price, cluster.currency)


def _nodes(cluster: Cluster, found: Evaluation) -> Iterator[Row]:
    node_of = {tm.id: tm.node for tm in cluster.task_managers}
    in_use = {node_of[limit.where] for limit in found.task_managers if limit.used}
    by_price: dict[float, int] = defaultdict(int)
    for node in cluster.nodes:
        if node.price_per_node_hour and node.id in in_use:
            by_price[node.price_per_node_hour] += 1
    for price, number in sorted(by_price.items(), reverse=True):
        name = f"{counted(number, 'nodes')} in use"
        yield name, *_time(number, "", price, cluster.currency)


def _time(number: float, of: str, per_hour: float, currency: str | None) -> tuple[str, str, str]:
    """Return how long a number of cores or nodes is used in a month, its price, and the money.

    The price is by the hour or by the month: people write the one that is the rounder number.
    """
    hours = MONTH_S / HOUR_S
    by_hour, by_month = f"{per_hour:.9g}", f"{per_hour * hours:.9g}"
    if len(by_month) < len(by_hour):
        used, price = counted(number, f"{of}months"), f"{exact(per_hour * hours)} {currency}/month"
    else:
        used, price = counted(number * hours, f"{of}hours"), f"{exact(per_hour)} {currency}/h"
    return used, price, count(number * hours * per_hour)
