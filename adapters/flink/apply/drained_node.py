"""The TaskManagers of a node, by any of its names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass

from edgeplace.adapters.flink.plans.cordons import Cordon
from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.adapters.flink.plans.plan_file import locations
from edgeplace.adapters.flink.rest.live import LiveTaskManager
from edgeplace.model import Cluster, InvalidInputError


@dataclass(frozen=True)
class DrainedNode:
    """The TaskManagers of a node, those that are gone too."""

    registered: frozenset[str]
    """Resource ids."""
    task_managers: Mapping[str, frozenset[str]]
    """A name of each TaskManager -> all its names: its resource id, and its host if that has one
    TaskManager."""

    @property
    def names(self) -> frozenset[str]:
        """What plans may call its TaskManagers."""
        return frozenset().union(*self.task_managers.values())


def node_of(
    node: str,
    task_managers: tuple[LiveTaskManager, ...],
    user: Cluster | None,
    known: Set[str] = frozenset(),
) -> DrainedNode:
    """Return the TaskManagers of a node.

    Parameters
    ----------
    node
        A resource id, a host, or a TaskManager, node or site of the user's cluster.
    known
        Names of TaskManagers that may be gone: those in the files of the folder of plans.

    Raises
    ------
    InvalidInputError
        If no such place is known.
    """
    found = {tm.id for tm in task_managers if tm.id == node}
    found = found or {tm.id for tm in task_managers if tm.host == node}
    gone: dict[str, frozenset[str]] = {}
    if not found and user is not None and (node not in known or _has(user, node)):
        found, gone = _meant_by_user(node, task_managers, user)
    elif not found and node in known:
        gone = {node: frozenset({node})}
    elif not found:
        raise _unknown(node, task_managers, known)
    shared = Counter(tm.host for tm in task_managers)
    registered_names = {
        tm.id: frozenset({tm.id} | ({tm.host} - {""} if shared[tm.host] == 1 else set()))
        for tm in task_managers
        if tm.id in found
    }
    return DrainedNode(frozenset(found), registered_names | gone)


def _meant_by_user(
    node: str, task_managers: tuple[LiveTaskManager, ...], user: Cluster
) -> tuple[set[str], dict[str, frozenset[str]]]:
    """Return what is registered of a place of the user's cluster, and the names of the others."""
    wanted = set(user.task_managers_at(node))
    met = {
        tm.id: user.resolve_task_manager(tm.id) or user.resolve_task_manager(tm.host)
        for tm in task_managers
    }
    gone = {
        tm.id: frozenset({tm.id, tm.host} - {""})
        for tm in user.task_managers
        if tm.id in wanted - set(met.values())
    }
    return {tm for tm, mine in met.items() if mine in wanted}, gone


def _has(user: Cluster, node: str) -> bool:
    with suppress(InvalidInputError):
        return bool(user.task_managers_at(node))
    return False


def _unknown(
    node: str, task_managers: tuple[LiveTaskManager, ...], known: Set[str]
) -> InvalidInputError:
    there = {name for tm in task_managers for name in (tm.id, tm.host)}
    registered = ", ".join(sorted(tm.id for tm in task_managers)) or "none"
    named = ", ".join(sorted(known - there)) or "none"
    return InvalidInputError(
        f"no TaskManager with the id or host {node!r} is registered, and no plan names one",
        f"registered: {registered}; gone, and in plans: {named}; give --cluster FILE for the "
        "names in it",
    )


def names_in(folder: PlansFolder, closed: Iterable[Cordon]) -> frozenset[str]:
    """Return what the plans of a folder, and its cordons, call TaskManagers."""
    named: set[str] = set().union(*(cordon.names for cordon in closed))
    for path in folder.plan_files():
        # What is no plan file concerns nobody here.
        with suppress(InvalidInputError):
            named |= locations(folder.read(path) or "")
    return frozenset(named)
