"""The client of Flink's REST API."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from edgeplace.adapters.flink.errors import FlinkNotFoundError, FlinkUnreachableError
from edgeplace.adapters.flink.rest.credentials import FLINK_VARIABLES, Credentials
from edgeplace.adapters.flink.rest.http import GATEWAY_CODES, HttpSession, Service

_FLINK = Service(
    server="the JobManager",
    api="Flink's REST API",
    its_api="its REST API (rest.port)",
    kind="a REST API",
    example="http://HOST:8081",
    prefix=FLINK_VARIABLES,
    error=FlinkUnreachableError,
)


class FlinkClient:
    """A session with the REST API of one JobManager.

    Parameters
    ----------
    url
        Address of the REST API, such as `http://127.0.0.1:8081`; it may have a path.
    credentials
        Credentials, sent with each request; over plain http only to this machine.
    ca_file
        Certificates to trust (PEM) in place of the system's.
    timeout_s
        Time limit of a connection, and of each part of an answer. The whole request with retries
        may take three times as long.

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
        timeout_s: float = 10.0,
    ) -> None:
        self._session = HttpSession(_FLINK, url, credentials, ca_file, timeout_s)
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

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        """Return the answer to a GET, decoded.

        Parameters
        ----------
        path
            Path relative to the address, such as `/jobs/overview`.

        Raises
        ------
        FlinkUnreachableError
            If there is no answer, Flink refuses, or the answer is not JSON.
        FlinkNotFoundError
            If Flink does not know the requested object.
        """
        answer = self._session.get(path, params)
        content, code, where = answer.content, answer.status, answer.where
        said = flinks_words(content)
        quoted = f": {said}" if said else ""
        if code == 404:
            raise FlinkNotFoundError(
                f"{where}: not found{quoted}",
                "has the job ended?" if said else "is this the address of Flink's REST API?",
            )
        if code in GATEWAY_CODES:
            raise FlinkUnreachableError(
                f"{where}: Flink is not ready ({code}){quoted}", "wait for the JobManager to start"
            )
        if code >= 400:
            raise FlinkUnreachableError(
                f"{where}: Flink refuses ({code}){quoted}", "see the JobManager's log"
            )
        if content is None:
            raise FlinkUnreachableError(
                f"{where}: the answer is not JSON",
                "give the address of Flink's REST API; this may be a proxy or a web page",
            )
        return content


def flinks_words(content: Any) -> str:
    """Return the message of an error answer of Flink on one line, without its stack trace."""
    errors = content.get("errors") if isinstance(content, dict) else None
    texts = [str(e) for e in errors] if isinstance(errors, list) else []
    first_lines = [t.strip().splitlines()[0] for t in texts if t.strip()]
    return " ".join(first_lines)[:300]
