"""The few calls of Flink's REST API the testbed needs."""

from pathlib import Path
from typing import Any

import requests

_TIMEOUT_S = 20.0


class FlinkRest:
    """A client of one JobManager.

    Parameters
    ----------
    url
        Address of the REST endpoint, e.g. ``http://127.0.0.1:8081``.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        # The endpoint is on this machine: never ask a proxy for it.
        self._session.trust_env = False

    def get(self, path: str, get: list[str] | None = None) -> Any:
        """Return the answer to a GET, decoded; ``get`` names the metrics wanted."""
        params = {"get": ",".join(get)} if get else None
        answer = self._session.get(self._url + path, params=params, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()

    def upload(self, jar: Path) -> str:
        """Upload a job's jar and return the id it got."""
        with jar.open("rb") as content:
            files = {"jarfile": (jar.name, content, "application/java-archive")}
            answer = self._session.post(self._url + "/jars/upload", files=files, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        filename: str = answer.json()["filename"]
        return Path(filename).name

    def run(self, jar_id: str, arguments: list[str]) -> str:
        """Start the job of an uploaded jar and return the job's id."""
        answer = self._session.post(
            f"{self._url}/jars/{jar_id}/run",
            json={"programArgsList": arguments},
            timeout=_TIMEOUT_S * 3,
        )
        answer.raise_for_status()
        job_id: str = answer.json()["jobid"]
        return job_id

    def cancel(self, job_id: str) -> None:
        """Ask for the end of a job; it ends some time after this returns."""
        self._session.patch(f"{self._url}/jobs/{job_id}", timeout=_TIMEOUT_S).raise_for_status()
