"""A server on this machine for the time of a ``with`` block, and ports for it."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import Self

from testbed.errors import TestbedError
from testbed.process import launch_server, stop

LOOPBACK = "127.0.0.1"
_FOR_SERVERS = range(15_000, 32_000)
"""Linux gives ports from 32768 on to connections: any other program may take such a port before the
server that it is meant for has started."""


def free_ports(count: int) -> list[int]:
    """Return ports on loopback that nothing listens at, and no connection gets by chance.

    Raises
    ------
    TestbedError
        If there are not so many.
    """
    ports: list[int] = []
    with ExitStack() as held:
        for port in SystemRandom().sample(_FOR_SERVERS, len(_FOR_SERVERS)):
            with suppress(OSError):
                held.enter_context(socket.create_server((LOOPBACK, port)))
                ports.append(port)
            if len(ports) == count:
                return ports
    raise TestbedError(f"{LOOPBACK} has {len(ports)} free ports, and {count} are needed")


class TestbedServer(ABC):
    """A server that runs, and is ready, for the time of the ``with`` block.

    Parameters
    ----------
    name
        For people.
    command
        Its program and arguments.
    log
        File for its output.

    Raises
    ------
    TestbedError
        On entering, if it is not ready in time.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self._name = name
        self._command = command
        self._log = log

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether it answers."""

    def _needed(self) -> AbstractContextManager[object]:
        """Return what runs before and after it."""
        return nullcontext()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            cleanup.enter_context(self._needed())
            server = launch_server(self._name, self._command, self._log, self._is_ready)
            # In order: what is in its memory goes to its files.
            cleanup.callback(stop, server)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()
