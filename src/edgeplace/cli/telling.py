"""The amount of text beside the result of a command: `--quiet` and `--verbose`."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from edgeplace.cli.console import Console

_TOLD = ("edgeplace", "urllib3.connectionpool")
"""Loggers that `--verbose` shows: files, and requests to Flink without their headers."""


@contextmanager
def telling(args: argparse.Namespace, console: Console) -> Iterator[None]:
    """Tell as much as the arguments ask for, while the block runs."""
    console.quiet, console.steps = args.quiet, args.verbose
    handler = _Notices(console)
    loggers = [logging.getLogger(name) for name in _TOLD] if args.verbose else []
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)


class _Notices(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record as a dim line."""
        self._console.notice(record.getMessage())
