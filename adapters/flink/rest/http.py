"""GET from a server's HTTP API: one session, bounded retries, TLS, credentials, clear errors."""

import ipaddress
import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Retry

from edgeplace.adapters.flink.rest.credentials import Credentials
from edgeplace.model import EdgeplaceError, InvalidInputError, address_fault

GATEWAY_CODES = (502, 503, 504)
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
    status_forcelist=GATEWAY_CODES,
    allowed_methods=("GET",),
    raise_on_status=False,
    # Otherwise a server could request a pause of an hour.
    respect_retry_after_header=False,
)

_Got = TypeVar("_Got")


@dataclass(frozen=True)
class Service:
    """What messages say of a kind of server."""

    server: str
    """Such as `the JobManager`."""
    api: str
    """Such as `Flink's REST API`."""
    example: str
    """Such as `http://HOST:8081`."""
    its_api: str
    """Such as `its REST API (rest.port)`."""
    kind: str
    """Such as `a REST API`."""
    prefix: str
    """Of the environment variables with its credentials."""
    error: type[EdgeplaceError]
    """Raised if the server cannot be reached, or refuses."""


@dataclass(frozen=True)
class HttpAnswer:
    """The answer to a GET."""

    where: str
    """The address, for messages."""
    status: int
    content: Any
    """The decoded JSON; None if the answer is not JSON."""


class HttpSession:
    """A session with one server. `FlinkClient` describes the parameters.

    Raises
    ------
    InvalidInputError
        As `FlinkClient`.
    """

    def __init__(
        self,
        service: Service,
        url: str,
        credentials: Credentials | None,
        ca_file: str | Path | None,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._service = service
        local = _check(url, credentials, service)
        if ca_file is not None and not Path(ca_file).is_file():
            raise InvalidInputError(f"--ca-file {ca_file}: no such file", "check the path")
        self._credentials = credentials
        self._verify: bool | str = str(ca_file) if ca_file is not None else True
        self._timeout_s = timeout_s
        self._session = requests.Session()
        # Requests to this machine never use a proxy.
        self._session.trust_env = not local
        self._session.auth = _Authorization(credentials)
        self._session.headers.update({"Accept": "application/json", **(headers or {})})
        adapter = HTTPAdapter(max_retries=_RETRIES)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def get(self, path: str, params: Mapping[str, str] | None = None) -> HttpAnswer:
        """Return the answer to a GET, also that of a refusal other than 401 and 403.

        Raises
        ------
        EdgeplaceError
            Of the service's kind, if there is no answer, it redirects, or access is refused.
        """
        where, service = self.url + path, self._service
        busy = f"is {service.server} overloaded, or a firewall in between?"
        try:
            answer, body = _within(_PATIENCE * self._timeout_s, lambda: self._answer(where, params))
        except TimeoutError as e:
            raise service.error(
                f"{where}: no whole answer within {_PATIENCE * self._timeout_s:g} s", busy
            ) from e
        except requests.exceptions.SSLError as e:
            raise self._untrusted(e) from e
        except requests.exceptions.Timeout as e:
            raise service.error(f"{where}: no answer within {self._timeout_s:g} s", busy) from e
        except requests.exceptions.RequestException as e:
            if isinstance(getattr(e.args[0] if e.args else None, "reason", None), ReadTimeoutError):
                # What requests raises when the second try times out, too.
                raise service.error(f"{where}: no answer within {self._timeout_s:g} s", busy) from e
            raise service.error(
                f"{where}: no connection: {_cause(e)}",
                f"is {service.server} up, and is this the address of {service.its_api}?",
            ) from e
        code = answer.status_code
        if code in (401, 403):
            raise service.error(f"{where}: access refused ({code})", self._other_login())
        if 300 <= code < 400:
            raise service.error(
                f"{where} redirects to {answer.headers.get('Location', 'nowhere'):.200}",
                f"give the address of {service.api} itself",
            )
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            content = None
        return HttpAnswer(where, code, content)

    def _answer(
        self, where: str, params: Mapping[str, str] | None
    ) -> tuple[requests.Response, bytes]:
        # Redirects are not followed, so that credentials never reach other hosts. The
        # APIs of Flink and Prometheus send no redirects.
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
                    raise self._service.error(
                        f"{where}: the answer is larger than {_LARGEST_BYTES} bytes",
                        f"is this the address of {self._service.api}?",
                    )
            return answer, bytes(body)

    def _other_login(self) -> str:
        if self._credentials is None:
            return (
                f"set {self._service.prefix}_TOKEN, or {self._service.prefix}_USER and "
                f"{self._service.prefix}_PASSWORD, or give --credentials FILE"
            )
        return f"the credentials of {self._credentials.origin} are not accepted: correct them there"

    def _untrusted(self, error: requests.exceptions.SSLError) -> EdgeplaceError:
        text = _cause(error)
        if "mismatch" in text:
            return self._service.error(
                f"{self.url}: the certificate is of another host: {text}",
                "give the host that the certificate names",
            )
        if "verify failed" in text:
            return self._service.error(
                f"{self.url}: the certificate is not trusted: {text}",
                "give the certificate of its authority: --ca-file FILE",
            )
        return self._service.error(
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


def _check(url: str, credentials: Credentials | None, service: Service) -> bool:
    """Refuse an unusable address; return whether it is on this machine.

    An invalid address is not quoted, because it may contain a password.
    """
    fault = address_fault(
        url,
        service.kind,
        service.example,
        f"set {service.prefix}_USER and {service.prefix}_PASSWORD",
    )
    if fault:
        raise InvalidInputError(f"the address of {service.server} {fault.what}", fault.cure)
    parts = urlsplit(url)
    host = parts.hostname or ""
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
