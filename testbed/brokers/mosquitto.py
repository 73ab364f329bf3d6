"""A Mosquitto of Debian's: the broker of a site, which keeps what is not acknowledged."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.errors import TestbedError
from testbed.process import free_ports, launch_server, stop

_LARGEST_ID = 65_535
"""So many messages may wait for an acknowledgement: an MQTT packet has 16 bits for its id."""


def find_mosquitto() -> str:
    """Return the path of the broker's program.

    Raises
    ------
    TestbedError
        If there is none.
    """
    binary = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        raise TestbedError("no mosquitto: apt-get install mosquitto")
    return binary


class Mosquitto:
    """A broker for the time of the ``with`` block.

    Parameters
    ----------
    folder
        For its configuration, sessions and log; made here.
    host
        Its address.
    beside
        What its command begins with, e.g. ``ip netns exec NAME``.

    Attributes
    ----------
    address
        ``host:port``.

    Raises
    ------
    TestbedError
        If there is no ``mosquitto``, or it is not ready in time.
    """

    def __init__(self, folder: Path, host: str = "127.0.0.1", beside: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True)
        port = free_ports(1)[0]
        self.address = f"{host}:{port}"
        self._log = folder / "mosquitto.log"
        configuration = folder / "mosquitto.conf"
        configuration.write_text(
            f"listener {port} {host}\n"
            "allow_anonymous true\n"
            f"persistence true\npersistence_location {folder}/\n"
            # By default 20 messages wait for an acknowledgement, and 1000 behind them; more are
            # thrown away.
            f"max_inflight_messages {_LARGEST_ID}\nmax_queued_messages 0\n"
            "log_dest stderr\nlog_type error\nlog_type warning\nlog_type subscribe\n"
            "log_type information\n" + ("user root\n" if os.geteuid() == 0 else "")
            # It would become a user that cannot write to the folder.
        )
        self._command = [*beside, find_mosquitto(), "-c", str(configuration)]

    def __enter__(self) -> Self:
        self._process = launch_server("Mosquitto", self._command, self._log, self._is_ready)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop(self._process)

    def has_subscriber(self, client: str) -> bool:
        """Whether a client has subscribed: from then on its messages wait for it."""
        return any(f" {client} 1 " in line for line in self._log.read_text().splitlines())

    def _is_ready(self) -> bool:
        return any(line.endswith(" running") for line in self._log.read_text().splitlines())
