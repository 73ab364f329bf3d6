"""The user's description of sites, which completes Flink's answers to a cluster file."""

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field, model_validator

from edgeplace.model import InvalidInputError, RateUnit
from edgeplace.model.base import Frozen, Id
from edgeplace.model.cluster import (
    Link,
    NodeClass,
    Position,
    Tier,
    one_currency,
    rates_as_written,
)

_APART = (
    "; to try several sites on one machine, give each TaskManager an address of its own, such as "
    "taskmanager.host: 127.0.0.2"
)


class SiteHosts(Position):
    """A site, and the patterns of its TaskManagers."""

    id: Id
    hosts: tuple[Id, ...] = Field(min_length=1)
    """Patterns (`10.0.1.*`, `pi-lyon-?`) of their hosts or resource ids."""
    tier: Tier = "edge"
    node_class: Id = "default"
    """Class of all machines of the site."""


class Sites(Frozen):
    """Sites and the links between them."""

    format: Literal["edgeplace/sites"] = "edgeplace/sites"
    version: Literal[1] = 1
    sites: tuple[SiteHosts, ...] = Field(min_length=1)
    links: tuple[Link, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    checkpoint_storage: str | None = None
    """As in a cluster file."""
    mtu_bytes: int | None = None
    """As in a cluster file."""
    currency: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")
    """As in a cluster file."""
    rates_in: RateUnit = RateUnit.BYTES
    """As in a cluster file."""

    _one_currency = model_validator(mode="before")(one_currency)
    _rates_as_written = model_validator(mode="before")(rates_as_written)

    def site_of(self, host: str, resource_ids: tuple[str, ...]) -> SiteHosts:
        """Return the site of a machine.

        Parameters
        ----------
        host
            The host, as Flink knows it.
        resource_ids
            Resource ids of the TaskManagers on it.

        Raises
        ------
        InvalidInputError
            If no site matches, or several do.
        """
        names = (host, *resource_ids)
        fit = [s for s in self.sites if any(fnmatchcase(n, p) for n in names for p in s.hosts)]
        machine = f"host {host!r} with TaskManagers {', '.join(resource_ids)}"
        if not fit:
            raise InvalidInputError(
                f"{machine} is at none of the sites {[s.id for s in self.sites]}",
                "add a pattern of its host or of its resource id to the hosts of its site",
            )
        if len(fit) > 1:
            raise InvalidInputError(
                f"{machine} is at several sites: {[s.id for s in fit]}",
                "make the patterns of their hosts narrower"
                + (_APART if len(resource_ids) > 1 else ""),
            )
        return fit[0]
