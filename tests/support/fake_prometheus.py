"""A Prometheus server on a loopback port: the two pages of its API that edgeplace reads."""

import bisect
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TASK = "flink_taskmanager_job_task"
MOST_POINTS = 11_000
LOOKBACK_S = 300.0


class FakePrometheus:
    """A server, `with FakePrometheus() as prometheus:`; then `prometheus.url`.

    A point of a query is the last sample of the five minutes before it, as with the real server.
    """

    def __init__(self) -> None:
        self.series: list[tuple[dict[str, str], list[float], list[float]]] = []
        """Labels, times of samples in seconds, values; NaN ends a series."""
        self.answer: tuple[int, Any] | None = None
        """Status and content in place of each answer."""
        self.token: str | None = None
        self.delay_s = 0.0
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []

    def __enter__(self) -> "FakePrometheus":
        prometheus = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                params = {k: v[0] for k, v in parse_qs(url.query).items()}
                prometheus.asked.append((url.path, params))
                prometheus.headers.append(dict(self.headers))
                time.sleep(prometheus.delay_s)
                status, content = prometheus._page(
                    url.path, params, self.headers.get("Authorization")
                )
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # The client no longer waits.

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def scrape(
        self, name: str, times: list[float], values: list[float], **labels: str
    ) -> dict[str, str]:
        """Add the samples of a series of a subtask or TaskManager."""
        all_labels = {"__name__": name, "instance": "10.0.0.1:9249", "tm_id": "pi_1", **labels}
        self.series.append((all_labels, list(times), list(values)))
        return all_labels

    def queries(self) -> list[dict[str, str]]:
        """Return the parameters of each query of a range."""
        return [params for path, params in self.asked if path == "/api/v1/query_range"]

    def _page(self, path: str, params: dict[str, str], authorization: str | None) -> Any:
        if self.token and authorization != f"Bearer {self.token}":
            return 401, b"Unauthorized"
        if self.answer:
            return self.answer
        if path == "/api/v1/series":
            return 200, _success([labels for labels, _, _ in self._fit(params["match[]"])])
        if path == "/api/v1/query_range":
            return self._range(params)
        return 404, b"404 page not found\n"

    def _range(self, params: dict[str, str]) -> tuple[int, Any]:
        start, end, step = (float(params[k]) for k in ("start", "end", "step"))
        if (end - start) / step > MOST_POINTS:
            return 400, _failure("exceeded maximum resolution of 11,000 points per timeseries")
        count = int((end - start) / step + 1e-9) + 1
        result = []
        for labels, times, values in self._fit(params["query"]):
            points = []
            for at in (start + i * step for i in range(count)):
                last = bisect.bisect_right(times, at) - 1
                if last >= 0 and times[last] > at - LOOKBACK_S and values[last] == values[last]:
                    points.append([round(at, 3), f"{values[last]:g}"])
            if points:
                result.append({"metric": labels, "values": points})
        return 200, _success({"resultType": "matrix", "result": result})

    def _fit(self, selector: str) -> list[tuple[dict[str, str], list[float], list[float]]]:
        name, inner = re.fullmatch(r"(\w*)(?:\{(.*)\})?", selector).groups()  # type: ignore[union-attr]
        wanted = [("__name__", "=", name)] if name else []
        for key, how, text in re.findall(r'(\w+)(=~|=)("(?:[^"\\]|\\.)*")', inner or ""):
            wanted.append((key, how, json.loads(text)))
        return [
            one
            for one in self.series
            if all(
                re.fullmatch(text if how == "=~" else re.escape(text), one[0].get(key, ""))
                for key, how, text in wanted
            )
        ]


def _success(data: Any) -> dict[str, Any]:
    return {"status": "success", "data": data}


def _failure(text: str) -> dict[str, str]:
    return {"status": "error", "errorType": "bad_data", "error": text}
