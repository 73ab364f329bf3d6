"""An HTTP server that keeps what Flink's InfluxDB and OpenTelemetry reporters post."""

import gzip
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

_HOST = "127.0.0.1"


class PushReceiver:
    """A server for the time of the ``with`` block.

    It answers as InfluxDB 1 and as a collector of OpenTelemetry do.

    Parameters
    ----------
    lines
        File for the points of InfluxDB's line protocol.
    requests
        File for OpenTelemetry's requests as they came: of each, its length (4 bytes, most
        significant first) and its protobuf message.
    """

    def __init__(self, lines: Path, requests: Path) -> None:
        writing = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                """Answer InfluxDB's ping."""
                self._answer(204)

            def do_POST(self) -> None:
                """Keep a report."""
                body = self._body()
                of_influx = self.path.startswith("/write")
                with writing:
                    if of_influx:
                        _append(lines, body.rstrip(b"\n") + b"\n")
                    elif self.path.startswith("/v1/metrics"):
                        _append(requests, len(body).to_bytes(4, "big") + body)
                self._answer(204 if of_influx else 200)

            def _body(self) -> bytes:
                body = b""
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                return gzip.decompress(body) if self.headers.get("Content-Encoding") else body

            def _answer(self, status: int) -> None:
                self.send_response(status)
                self.send_header("X-Influxdb-Version", "1.8")
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

        self._server = ThreadingHTTPServer((_HOST, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reporters(self, interval: str) -> Mapping[str, str]:
        """Return the Flink options that add both reporters."""
        port = self._server.server_address[1]
        influx, otel = "metrics.reporter.influx", "metrics.reporter.otel"
        return {
            f"{influx}.factory.class": "org.apache.flink.metrics.influxdb.InfluxdbReporterFactory",
            f"{influx}.scheme": "http",
            f"{influx}.host": _HOST,
            f"{influx}.port": str(port),
            f"{influx}.db": "flink",
            f"{influx}.interval": interval,
            f"{otel}.factory.class": (
                "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory"
            ),
            f"{otel}.exporter.endpoint": f"http://{_HOST}:{port}/v1/metrics",
            f"{otel}.exporter.protocol": "HTTP",
            f"{otel}.interval": interval,
        }


def _append(file: Path, data: bytes) -> None:
    with file.open("ab") as f:
        f.write(data)
