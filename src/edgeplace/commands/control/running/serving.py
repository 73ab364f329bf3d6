"""The loop's page and its metrics, on this machine's own address; nothing can be changed there."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from edgeplace.control.loop import figures
from edgeplace.control.loop.memory import Memory
from edgeplace.control.settings import address
from edgeplace.model import InvalidInputError
from edgeplace.report.control_page import control_page

_CLIENT_S = 10.0
"""A client that is silent for longer is left."""
_OURS = ("127.0.0.1", "localhost", "::1")

Look = Callable[[], tuple[Memory, float]]
"""The loop's memory, and its clock."""


@contextlib.contextmanager
def served(listen: str | None, look: Look) -> Iterator[str]:
    """Serve while the block runs, and give the address of the page; empty: nothing is served.

    Raises
    ------
    InvalidInputError
        If the address cannot be had.
    """
    if listen is None:
        yield ""
        return
    host, port = address(listen)
    server = _server(host, port, look)
    thread = threading.Thread(target=server.serve_forever, name="page", daemon=True)
    thread.start()
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def _server(host: str, port: int, look: Look) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        timeout = _CLIENT_S
        server_version = "edgeplace"
        sys_version = ""

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, body: bool) -> None:
            status, kind, text = answer(self.path, self.headers.get("Host", ""), look)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, *args: Any) -> None:
            """Say nothing: a client that goes away is no matter of ours."""

    try:
        return Server((host, port), Handler)
    except OSError as e:
        raise InvalidInputError(
            f"listen: {host}:{port} cannot be had: {e.strerror}", "choose another port"
        ) from e


def answer(path: str, asked: str, look: Look) -> tuple[int, str, str]:
    """Return status, content type and text.

    Parameters
    ----------
    asked
        The name that the client has for this machine: a page of elsewhere, whose name was made to
        lead here, is not answered.
    """
    name = asked.rpartition(":")[0] if not asked.endswith("]") and ":" in asked else asked
    if name.strip("[]") not in _OURS:
        return 403, "text/plain; charset=utf-8", f"ask by one of {', '.join(_OURS)}\n"
    memory, now_s = look()
    page = path.partition("?")[0]
    if page == "/metrics":
        return 200, figures.CONTENT_TYPE, figures.text(memory, now_s)
    if page == "/":
        return 200, "text/html; charset=utf-8", control_page(memory, now_s)
    return 404, "text/plain; charset=utf-8", "there are / and /metrics\n"
