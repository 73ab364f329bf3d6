"""Addresses of a JobManager, or of another server of HTTP: what is wrong with their form."""

import re
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

_SCHEMES = ("http", "https")
_BEGINNING = re.compile(r"^(\w+:)?/+")
_HOST = re.compile(r"[\w.:%-]+")


class AddressFault(NamedTuple):
    """What is wrong with an address, as the rest of a sentence, and the cure."""

    what: str
    cure: str


def address_fault(
    url: str,
    kind: str = "a REST API",
    example: str = "http://HOST:8081",
    secrets: str = "name a file with them: `credentials`",
) -> AddressFault | None:
    """Return what is wrong with the form of an address; None: nothing.

    `what` quotes nothing of the address, and `cure` nothing of one with a user, a password or a
    query: these may be secret.

    Parameters
    ----------
    kind
        What the server is.
    example
        Its usual address.
    secrets
        What to do with a user and a password.
    """
    write = f"write {example} or https://HOST:PORT"
    try:
        parts = urlsplit(url)
    except ValueError:
        return AddressFault("is no URL", write)
    if "@" in (parts.netloc or url):
        return AddressFault("holds a user or a password", f"leave them out, and {secrets}")
    if parts.query or parts.fragment:
        return AddressFault(f"is no address of {kind}: it has a part behind ? or #", write)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        plain = f"http://{_BEGINNING.sub('', url)}"
        meant = urlsplit(plain).netloc and address_fault(plain) is None
        return AddressFault(
            f"is no address of {kind}: it does not begin with http://HOST or https://HOST",
            f"write {plain}" if meant else write,
        )
    return _fault_of_host(parts, kind, write)


def _fault_of_host(parts: SplitResult, kind: str, write: str) -> AddressFault | None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        return AddressFault("is no URL: its port is no number from 1 to 65535", write)
    if not parts.hostname:
        return AddressFault(f"is no address of {kind}: it has no host", write)
    if not _HOST.fullmatch(parts.hostname):
        return AddressFault("is no URL: its host has characters that no host has", write)
    return None
