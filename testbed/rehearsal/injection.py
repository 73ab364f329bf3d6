"""Let happen what a schedule says: rates, links, machines."""

from collections.abc import Callable
from dataclasses import replace

from edgeplace.control.rehearsal import (
    AnyInjected,
    KilledNode,
    LostSite,
    RateStep,
    Rehearsal,
    SlowNode,
    ThinLink,
)
from testbed.errors import TestbedError
from testbed.network.wan_link import LinkSpec
from testbed.rehearsal.offered import OfferedLog
from testbed.world import TestbedLayout, World


def check(schedule: Rehearsal, layout: TestbedLayout) -> None:
    """Check that all sites and machines of a schedule are those of the testbed.

    Raises
    ------
    TestbedError
        If one is not: with those that are there.
    """
    machines = {m.name for m in layout.machines}
    for event in schedule.events:
        sites = [getattr(event, k) for k in ("site", "other") if hasattr(event, k)]
        for site in sites:
            if site not in layout.sites:
                raise TestbedError(f"no site {site!r}; there are {', '.join(layout.sites)}")
        node = getattr(event, "node", None)
        if node is not None and node not in machines:
            raise TestbedError(f"no machine {node!r}; there are {', '.join(sorted(machines))}")
        if isinstance(event, ThinLink):
            pair = {event.site, event.other}
            if not any(set(joined) == pair for joined in layout.joined):
                raise TestbedError(f"no link joins {event.site} and {event.other}")


class Injector:
    """What has happened so far, on a testbed.

    Parameters
    ----------
    told
        Called with the links as they are known to whoever watches them: a link that carries less
        is seen, a site that is cut off is not another link.
    """

    def __init__(
        self,
        world: World,
        offered: OfferedLog,
        per_s: float,
        told: Callable[[list[LinkSpec]], None],
    ) -> None:
        self._world = world
        self._offered = offered
        self._per_s = per_s
        self._told = told
        self._links = list(world.links)
        self._cores = {m.name: m.cores for m in world.layout.machines}
        self._active: list[AnyInjected] = []

    def begin(self, event: AnyInjected) -> None:
        """Let it happen."""
        self._active.append(event)
        if isinstance(event, KilledNode):
            self._world.cluster.kill(event.node)
        self._set(event)

    def end(self, event: AnyInjected) -> None:
        """Let it be over."""
        self._active.remove(event)
        if isinstance(event, KilledNode):
            self._world.cluster.start(event.node)
        self._set(event)
        if isinstance(event, LostSite):
            # A TaskManager that finds no JobManager for five minutes ends itself
            # (taskmanager.registration.timeout), and a supervisor starts it again.
            self._world.cluster.start_ended()

    def _set(self, event: AnyInjected) -> None:
        """Bring about what holds now, of the kind of an event."""
        if isinstance(event, RateStep):
            steps = [e.factor for e in self._active if isinstance(e, RateStep)]
            self._offered.set(self._per_s * (steps[-1] if steps else 1.0))
        elif isinstance(event, SlowNode):
            slow = [e for e in self._active if isinstance(e, SlowNode) and e.node == event.node]
            cores = slow[-1].cores if slow else self._cores[event.node]
            self._world.cluster.limit(event.node, cores)
        elif isinstance(event, (ThinLink, LostSite)):
            known = [self._thin(link) for link in self._links]
            cut = {e.site for e in self._active if isinstance(e, LostSite)}
            self._world.set_links(
                [replace(a, loss=1.0) if cut & {a.source, a.target} else a for a in known]
            )
            if isinstance(event, ThinLink):
                self._told(known)

    def _thin(self, link: LinkSpec) -> LinkSpec:
        for event in self._active:
            if isinstance(event, ThinLink) and {link.source, link.target} == {
                event.site,
                event.other,
            }:
                link = replace(link, bytes_per_s=event.bandwidth_bytes_per_s)
        return link
