"""Servers of Debian's that scrape processes on this machine, and Flink's reporter for them."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

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
        If its program is missing, or it is not ready in time.
    """

    program: ClassVar[str] = "prometheus"
    """Also the name of Debian's package."""
    options: ClassVar[tuple[str, ...]] = (
        "--config.file={configuration}",
        "--storage.tsdb.path={data}",
        "--web.listen-address={address}",
    )
    ready: ClassVar[str] = "/-/ready"

    def __init__(self, ports: Sequence[int], folder: Path) -> None:
        binary = shutil.which(self.program)
        if binary is None:
            raise TestbedError(f"no {self.program}: apt-get install {self.program}")
        address = f"{LOOPBACK}:{free_ports(1)[0]}"
        self.url = f"http://{address}"
        configuration, data = folder / f"{self.program}.yml", folder / f"{self.program}-data"
        configuration.write_text(
            "scrape_configs:\n"
            "  - job_name: flink\n"
            f"    scrape_interval: {SCRAPE_S}s\n"
            f"    scrape_timeout: {SCRAPE_S}s\n"
            "    static_configs: "
            f"[{{targets: {json.dumps([f'{LOOPBACK}:{port}' for port in ports])}}}]\n"
        )
        options = (
            option.format(configuration=configuration, data=data, address=address)
            for option in self.options
        )
        super().__init__(self.program, [binary, *options], folder / f"{self.program}.log")

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
            return requests.get(f"{self.url}{self.ready}", timeout=_REQUEST_SECONDS).ok
        except requests.RequestException:
            return False


class VictoriaMetrics(Prometheus):
    """The same by VictoriaMetrics, which answers the same requests."""

    program: ClassVar[str] = "victoria-metrics"
    options: ClassVar[tuple[str, ...]] = (
        "-promscrape.config={configuration}",
        "-storageDataPath={data}",
        "-httpListenAddr={address}",
        # What is younger is not shown: by default 30 s.
        "-search.latencyOffset=1s",
    )
    ready: ClassVar[str] = "/health"
