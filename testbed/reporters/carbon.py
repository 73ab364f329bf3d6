"""A Carbon of Debian's, which writes Whisper files, and Flink's reporter for Graphite."""

import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from testbed.errors import TestbedError
from testbed.server import LOOPBACK, TestbedServer, free_ports


class Carbon(TestbedServer):
    """A `carbon-cache` for the time of the ``with`` block.

    Parameters
    ----------
    folder
        For its configuration, files and log.
    retentions
        What its files keep, such as ``1s:1h``.

    Attributes
    ----------
    port
        Where it takes lines.
    whisper
        Folder of its Whisper files.

    Raises
    ------
    TestbedError
        If there is no ``carbon-cache``, or it is not ready in time.
    """

    def __init__(self, folder: Path, retentions: str) -> None:
        binary = shutil.which("carbon-cache")
        if binary is None:
            raise TestbedError("no carbon-cache: apt-get install graphite-carbon")
        self.whisper = folder / "whisper"
        self.port, *others = free_ports(4)
        folder.mkdir(parents=True, exist_ok=True)
        # Some releases ask for this file.
        (folder / "storage-aggregation.conf").write_text("")
        (folder / "storage-schemas.conf").write_text(
            f"[all]\npattern = .*\nretentions = {retentions}\n"
        )
        places = {"STORAGE_DIR": folder, "CONF_DIR": folder, "LOG_DIR": folder, "PID_DIR": folder}
        ports = dict(
            zip(("PICKLE_RECEIVER", "CACHE_QUERY", "UDP_RECEIVER"), others, strict=True),
            LINE_RECEIVER=self.port,
        )
        options: dict[str, object] = {
            **places,
            "LOCAL_DATA_DIR": self.whisper,
            "MAX_CREATES_PER_MINUTE": "inf",
            "MAX_UPDATES_PER_SECOND": "inf",
            # No metrics of its own.
            "CARBON_METRIC_INTERVAL": 0,
            **{f"{name}_INTERFACE": LOOPBACK for name in ports},
            **{f"{name}_PORT": port for name, port in ports.items()},
        }
        configuration = folder / "carbon.conf"
        configuration.write_text(
            "[cache]\n" + "".join(f"{name} = {value}\n" for name, value in options.items())
        )
        command = [
            *(binary, f"--config={configuration}", f"--pidfile={folder / 'carbon.pid'}"),
            *(f"--logdir={folder}", "--nodaemon", "start"),
        ]
        super().__init__("Carbon", command, folder / "carbon.log")

    def reporter(self, interval: str) -> Mapping[str, str]:
        """Return the Flink options that add the reporter."""
        return {
            "metrics.reporter.graphite.factory.class": (
                "org.apache.flink.metrics.graphite.GraphiteReporterFactory"
            ),
            "metrics.reporter.graphite.host": LOOPBACK,
            "metrics.reporter.graphite.port": str(self.port),
            "metrics.reporter.graphite.protocol": "TCP",
            "metrics.reporter.graphite.interval": interval,
        }

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1):
                return True
        except OSError:
            return False
