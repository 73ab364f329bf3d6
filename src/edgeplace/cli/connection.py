"""The connection to Flink that `edgeplace flink` commands share."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from edgeplace.adapters.flink.rest import FlinkClient, LiveFlink, find_credentials


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[LiveFlink]:
    """Connect to the JobManager that the arguments name."""
    with session(args) as client:
        yield LiveFlink(client)


@contextmanager
def session(args: argparse.Namespace) -> Iterator[FlinkClient]:
    """Connect as `connected` does, and return the client for other requests."""
    # The warnings about retries repeat what our errors say.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    credentials = find_credentials(args.credentials)
    with FlinkClient(args.jobmanager, credentials, args.ca_file) as client:
        yield client
