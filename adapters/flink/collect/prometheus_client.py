"""The client of the HTTP API of Prometheus, which Thanos, Mimir and VictoriaMetrics have too.

https://prometheus.io/docs/prometheus/latest/querying/api describes the API.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from edgeplace.adapters.flink.errors import PrometheusUnreachableError
from edgeplace.adapters.flink.rest.credentials import Credentials
from edgeplace.adapters.flink.rest.http import HttpSession, Service

PROMETHEUS_VARIABLES = "EDGEPLACE_PROMETHEUS"
"""The start of the names of the variables with the credentials."""
MOST_POINTS = 11_000
"""Most points of a series in one answer of Prometheus."""

_PROMETHEUS = Service(
    server="the Prometheus server",
    api="Prometheus' HTTP API",
    its_api="its HTTP API, without /api/v1",
    kind="an HTTP API",
    example="http://HOST:9090",
    prefix=PROMETHEUS_VARIABLES,
    error=PrometheusUnreachableError,
)


class PrometheusClient:
    """A session with one server.

    Parameters
    ----------
    url
        Address of the API without `/api/v1`, such as `http://127.0.0.1:9090`; it may have a path.
    credentials
        Credentials, sent with each request; over plain http only to this machine.
    ca_file
        Certificates to trust (PEM) in place of the system's.
    headers
        More headers of each request, such as the tenant's `X-Scope-OrgID`.
    timeout_s
        Time limit of each part of an answer. The whole request with retries may take three times
        as long.

    Raises
    ------
    InvalidInputError
        If the address is invalid, contains a password, or if credentials would cross the network
        unencrypted.
    """

    def __init__(
        self,
        url: str,
        credentials: Credentials | None = None,
        ca_file: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        self._session = HttpSession(_PROMETHEUS, url, credentials, ca_file, timeout_s, headers)
        self.url = self._session.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.close()

    def series(self, selector: str, from_s: float, until_s: float) -> list[dict[str, str]]:
        """Return the labels of each series with points in about this time, seconds since the
        epoch.

        Raises
        ------
        PrometheusUnreachableError
            If the server does not answer or refuses, or if the answer is none of Prometheus'.
        """
        params = {"match[]": selector, "start": f"{from_s:.3f}", "end": f"{until_s:.3f}"}
        data, where = self._get("series", params)
        if not isinstance(data, list) or not all(isinstance(labels, dict) for labels in data):
            raise _strange(where)
        return data

    def range(
        self, selector: str, from_s: float, until_s: float, step_s: float
    ) -> list[dict[str, Any]]:
        """Return the points of series: objects with `metric`, the labels, and `values`, pairs of a
        time in seconds and a text.

        There is a point for `from_s` and for each `step_s` after it up to `until_s`. Its value is
        the last one that was scraped in the five minutes before it. Ask for `MOST_POINTS` at most.

        Raises
        ------
        PrometheusUnreachableError
            As `series`.
        """
        params = {
            "query": selector,
            "start": f"{from_s:.3f}",
            "end": f"{until_s:.3f}",
            "step": f"{step_s:.3f}",
        }
        data, where = self._get("query_range", params)
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list) or not all(_is_series(one) for one in result):
            raise _strange(where)
        return result

    def _get(self, name: str, params: Mapping[str, str]) -> tuple[Any, str]:
        answer = self._session.get(f"/api/v1/{name}", params)
        content, where = answer.content, answer.where
        said = content.get("error") if isinstance(content, dict) else None
        if answer.status == 404 and not said:
            raise PrometheusUnreachableError(
                f"{where}: not found",
                "give the address of Prometheus' HTTP API without /api/v1, such as "
                "http://HOST:9090; Mimir's ends in /prometheus",
            )
        if answer.status >= 400:
            raise PrometheusUnreachableError(
                f"{where}: Prometheus refuses ({answer.status})"
                + (f": {str(said)[:300]}" if said else ""),
                "ask for less with a shorter time or a larger --interval, or see the server's log",
            )
        if not isinstance(content, dict) or content.get("status") != "success":
            raise _strange(where)
        return content.get("data"), where


def _is_series(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("metric"), dict)
        and isinstance(one.get("values"), list)
        and all(isinstance(point, list) and len(point) == 2 for point in one["values"])
    )


def _strange(where: str) -> PrometheusUnreachableError:
    return PrometheusUnreachableError(
        f"{where}: the answer is none of Prometheus",
        "give the address of Prometheus' HTTP API; this may be a proxy or a web page",
    )
