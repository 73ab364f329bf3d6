"""A VictoriaMetrics of Debian's that scrapes processes on this machine."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import requests

from testbed.errors import TestbedError
from testbed.reporters.prometheus import scrape_configuration
from testbed.server import LOOPBACK, TestbedServer, free_ports

_REQUEST_SECONDS = 10.0


class VictoriaMetrics(TestbedServer):
    """A server that scrapes as `Prometheus` does, for the time of the ``with`` block.

    Parameters
    ----------
    ports
        Ports on loopback to scrape.
    folder
        For its configuration, data and log.

    Attributes
    ----------
    url
        Its address.

    Raises
    ------
    TestbedError
        If there is no ``victoria-metrics``, or it is not ready in time.
    """

    def __init__(self, ports: Sequence[int], folder: Path) -> None:
        binary = shutil.which("victoria-metrics")
        if binary is None:
            raise TestbedError("no victoria-metrics: apt-get install victoria-metrics")
        self.url = f"http://{LOOPBACK}:{free_ports(1)[0]}"
        configuration = folder / "victoria.yml"
        configuration.write_text(scrape_configuration(ports))
        command = [
            binary,
            f"-promscrape.config={configuration}",
            f"-storageDataPath={folder / 'victoria-data'}",
            f"-httpListenAddr={self.url.removeprefix('http://')}",
            # What is younger is not shown: by default 30 s.
            "-search.latencyOffset=1s",
        ]
        super().__init__("VictoriaMetrics", command, folder / "victoria.log")

    def _is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/health", timeout=_REQUEST_SECONDS).ok
        except requests.RequestException:
            return False
