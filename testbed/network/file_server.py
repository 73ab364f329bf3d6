"""A server of files for checkpoints at another site: the other end of `RemoteFiles.java`.

    python -m testbed.network.file_server HOST PORT FOLDER

A request is a line ``GET POSITION PATH`` or ``PUT 0 PATH``, answered by the bytes of the file from
the position on; or followed by the bytes of the file and answered by one byte once they are on
disk. Paths are absolute and lie in the folder; others are not answered.
"""

import os
import shutil
import socketserver
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from testbed.errors import TestbedError
from testbed.process import kill, launch, log_end

_READY = "ready"
_READY_SECONDS = 60.0
_LONGEST_REQUEST_BYTES = 4096


class FileServer(socketserver.ThreadingTCPServer):
    """Serves the files of one folder."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], folder: Path) -> None:
        super().__init__(address, _Request)
        self.folder = folder.resolve()


class _Request(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        verb, position, path = self.rfile.readline(_LONGEST_REQUEST_BYTES).decode().split(" ", 2)
        file = Path(path.removesuffix("\n")).resolve()
        if not file.is_relative_to(cast(FileServer, self.server).folder):
            return
        if verb == "GET":
            with file.open("rb") as source:
                source.seek(int(position))
                shutil.copyfileobj(source, self.wfile)
        elif verb == "PUT":
            with file.open("wb") as target:
                shutil.copyfileobj(self.rfile, target)
            self.wfile.write(b".")


@contextmanager
def file_server(address: tuple[str, int], folder: Path, namespace: str) -> Iterator[None]:
    """Serve a folder in a network namespace for the time of the ``with`` block.

    Raises
    ------
    TestbedError
        If the server does not start.
    """
    module = [sys.executable, "-m", __name__, address[0], str(address[1]), str(folder)]
    log = folder.with_name("file-server.log")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = launch(["ip", "netns", "exec", namespace, *module], log, environment)
    try:
        deadline = time.monotonic() + _READY_SECONDS
        while _READY not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise TestbedError(f"the file server does not start:\n{log_end(log, 20)}")
            time.sleep(0.05)
        yield
    finally:
        kill(process)


if __name__ == "__main__":
    with FileServer((sys.argv[1], int(sys.argv[2])), Path(sys.argv[3])) as server:
        print(_READY, flush=True)
        server.serve_forever()
