"""The client of Flink's REST API: one session, bounded retries, TLS, credentials, clear errors."""

import ipaddress
import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.util import Retry

from edgeplace.adapters.flink.errors import FlinkNotFoundError, FlinkUnreachableError
from edgeplace.adapters.flink.rest.credentials import Credentials
from edgeplace.model import InvalidInputError

_GATEWAY_CODES = (502, 503, 504)
_PATIENCE = 3
"""Time limit of a whole answer, as a multiple of the limit for a part of it."""
_LARGEST_BYTES = 64 * 2**20
_CHUNK_BYTES = 2**18
_RETRIES = Retry(
    total=3,
    connect=3,
    read=1,
    status=3,
    # A retry does not help against a wrong certificate.
    other=0,
    redirect=0,
    backoff_factor=0.3,
    status_forcelist=_GATEWAY_CODES,
    allowed_methods=("GET",),
    raise_on_status=False,
    # Otherwise a server could request a pause of an hour.
    respect_retry_after_header=False,
)

_Got = TypeVar("_Got")


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
        self.url = url.rstrip("/")
        local = _check(url, credentials)
        if ca_file is not None and not Path(ca_file).is_file():
            raise InvalidInputError(f"--ca-file {ca_file}: no such file", "check the path")
        self._credentials = credentials
        self._verify: bool | str = str(ca_file) if ca_file is not None else True
        self._timeout_s = timeout_s
        self._session = requests.Session()
        # Requests to this machine never use a proxy.
        self._session.trust_env = not local
        self._session.auth = _Authorization(credentials)
        self._session.headers["Accept"] = "application/json"
        adapter = HTTPAdapter(max_retries=_RETRIES)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

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
        where = self.url + path
        try:
            answer, body = _within(_PATIENCE * self._timeout_s, lambda: self._answer(where, params))
        except TimeoutError as e:
            raise FlinkUnreachableError(
                f"{where}: no whole answer within {_PATIENCE * self._timeout_s:g} s",
                "is the JobManager overloaded, or a firewall in between?",
            ) from e
        except requests.exceptions.SSLError as e:
            raise self._untrusted(e) from e
        except requests.exceptions.Timeout as e:
            raise FlinkUnreachableError(
                f"{where}: no answer within {self._timeout_s:g} s",
                "is the JobManager overloaded, or a firewall in between?",
            ) from e
        except requests.exceptions.RequestException as e:
            raise FlinkUnreachableError(
                f"{where}: no connection: {_cause(e)}",
                "is the JobManager up, and is this the address of its REST API (rest.port)?",
            ) from e
        return self._decoded(answer, body, where)

    def _answer(
        self, where: str, params: Mapping[str, str] | None
    ) -> tuple[requests.Response, bytes]:
        # Redirects are not followed, so that credentials never reach other hosts. Flink sends no
        # redirects.
        with self._session.get(
            where,
            params=params,
            timeout=self._timeout_s,
            verify=self._verify,
            allow_redirects=False,
            stream=True,
        ) as answer:
            body = bytearray()
            for chunk in answer.iter_content(_CHUNK_BYTES):
                body += chunk
                if len(body) > _LARGEST_BYTES:
                    raise FlinkUnreachableError(
                        f"{where}: the answer is larger than {_LARGEST_BYTES} bytes",
                        "is this the address of Flink's REST API?",
                    )
            return answer, bytes(body)

    def _decoded(self, answer: requests.Response, body: bytes, where: str) -> Any:
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            content = None
        said = flinks_words(content)
        quoted = f": {said}" if said else ""
        code = answer.status_code
        if code in (401, 403):
            raise FlinkUnreachableError(f"{where}: access refused ({code})", self._other_login())
        if 300 <= code < 400:
            raise FlinkUnreachableError(
                f"{where} redirects to {answer.headers.get('Location', 'nowhere'):.200}",
                "give the address of Flink's REST API itself",
            )
        if code == 404:
            raise FlinkNotFoundError(
                f"{where}: not found{quoted}",
                "has the job ended?" if said else "is this the address of Flink's REST API?",
            )
        if code in _GATEWAY_CODES:
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

    def _other_login(self) -> str:
        if self._credentials is None:
            return (
                "set EDGEPLACE_FLINK_TOKEN, or EDGEPLACE_FLINK_USER and EDGEPLACE_FLINK_PASSWORD, "
                "or give --credentials FILE"
            )
        return f"the credentials of {self._credentials.origin} are not accepted: correct them there"

    def _untrusted(self, error: requests.exceptions.SSLError) -> FlinkUnreachableError:
        text = _cause(error)
        if "mismatch" in text:
            return FlinkUnreachableError(
                f"{self.url}: the certificate is of another host: {text}",
                "give the host that the certificate names",
            )
        if "verify failed" in text:
            return FlinkUnreachableError(
                f"{self.url}: the certificate is not trusted: {text}",
                "give the certificate of its authority: --ca-file FILE",
            )
        return FlinkUnreachableError(
            f"{self.url}: no TLS connection: {text}", "does it speak TLS? if not, use http://"
        )


class _Authorization(AuthBase):
    """Sets the header.

    As an authentication of its own, it prevents requests from reading ~/.netrc.
    """

    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._credentials:
            request.headers["Authorization"] = self._credentials.authorization
        return request


def flinks_words(content: Any) -> str:
    """Return the message of an error answer of Flink on one line, without its stack trace."""
    errors = content.get("errors") if isinstance(content, dict) else None
    texts = [str(e) for e in errors] if isinstance(errors, list) else []
    first_lines = [t.strip().splitlines()[0] for t in texts if t.strip()]
    return " ".join(first_lines)[:300]


def _within(time_s: float, ask: Callable[[], _Got]) -> _Got:
    """Return the result of a function, or stop waiting for it after a time.

    The timeout of a socket starts again with each byte that a server sends, and the lookup of a
    name has no timeout.

    Raises
    ------
    TimeoutError
        If it has not returned in time. Errors of the function are passed on.
    """
    done: Future[_Got] = Future()

    def work() -> None:
        try:
            done.set_result(ask())
        except BaseException as e:
            done.set_exception(e)

    threading.Thread(target=work, daemon=True).start()
    return done.result(time_s)


def _check(url: str, credentials: Credentials | None) -> bool:
    """Refuse an unusable address; return whether it is on this machine.

    An invalid address is not quoted, because it may contain a password.
    """
    example = "write http://HOST:8081 or https://HOST:PORT"
    try:
        parts = urlsplit(url)
        host = parts.hostname
        # This raises an error if the port is not a number.
        parts.port  # noqa: B018
    except ValueError as e:
        raise InvalidInputError("the address of the JobManager is no URL", example) from e
    if "@" in (parts.netloc or url):
        # The address appears in messages.
        raise InvalidInputError(
            "the address of the JobManager holds a user or a password",
            "leave them out and set EDGEPLACE_FLINK_USER and EDGEPLACE_FLINK_PASSWORD",
        )
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise InvalidInputError(
            "the address of the JobManager is no address of a REST API", example
        )
    local = _is_loopback(host)
    if credentials and parts.scheme == "http" and not local:
        raise InvalidInputError(
            f"the credentials of {credentials.origin} would cross the network in clear to {url}",
            "use https://",
        )
    return local


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _cause(error: BaseException) -> str:
    """Return the innermost reason of an error that requests and urllib3 have wrapped."""
    while True:
        inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
        if not isinstance(inner, BaseException):
            inner = error.__cause__
        if inner is None:
            break
        error = inner
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    # OpenSSL names its source file.
    return re.sub(r"^\[SSL[^]]*\] | \(_ssl\.c:[0-9]+\)$", "", text) or type(error).__name__
