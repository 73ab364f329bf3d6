"""A Prometheus of Debian's that scrapes processes on this machine, and Flink's reporter for it."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import requests

from testbed.errors import TestbedError
from testbed.server import LOOPBACK, TestbedServer, free_ports

REPORTER: Mapping[str, str] = {
    "metrics.reporter.prom.factory.class": (
        "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    ),
}
"""Flink options that add the reporter; each process needs its `port` too."""
PORT = "metrics.reporter.prom.port"
SCRAPE_S = 2
_REQUEST_SECONDS = 10.0


def scrape_configuration(ports: Sequence[int]) -> str:
    """Return the text of a `prometheus.yml` that scrapes ports on loopback."""
    return (
        "scrape_configs:\n"
        "  - job_name: flink\n"
        f"    scrape_interval: {SCRAPE_S}s\n"
        f"    scrape_timeout: {SCRAPE_S}s\n"
        "    static_configs: "
        f"[{{targets: {json.dumps([f'{LOOPBACK}:{port}' for port in ports])}}}]\n"
    )


class Prometheus(TestbedServer):
    """A server that scrapes every `SCRAPE_S` seconds, for the time of the ``with`` block.

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
        If there is no ``prometheus``, or it is not ready in time.
    """

    def __init__(self, ports: Sequence[int], folder: Path) -> None:
        binary = shutil.which("prometheus")
        if binary is None:
            raise TestbedError("no prometheus: apt-get install prometheus")
        self.url = f"http://{LOOPBACK}:{free_ports(1)[0]}"
        configuration = folder / "prometheus.yml"
        configuration.write_text(scrape_configuration(ports))
        command = [
            binary,
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={self.url.removeprefix('http://')}",
        ]
        super().__init__("Prometheus", command, folder / "prometheus.log")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an instant query: each has `metric` (labels) and `value`.

        Raises
        ------
        TestbedError
            If Prometheus refuses the query.
        """
        asked = {"query": expression}
        said = requests.get(f"{self.url}/api/v1/query", asked, timeout=_REQUEST_SECONDS).json()
        if said["status"] != "success":
            raise TestbedError(f"{expression}: {said['error']}")
        found: list[dict[str, Any]] = said["data"]["result"]
        return found

    def values(self, expression: str) -> list[float]:
        """Return the values of an instant query, one for each series."""
        return [float(series["value"][1]) for series in self.query(expression)]

    def _is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/-/ready", timeout=_REQUEST_SECONDS).ok
        except requests.RequestException:
            return False
