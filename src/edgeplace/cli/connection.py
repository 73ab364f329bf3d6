"""The connection to Flink that `edgeplace flink` commands share."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from edgeplace.adapters.flink.rest import FlinkClient, LiveFlink, find_credentials


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[LiveFlink]:
    """Connect to the JobManager that the arguments name, as they say."""
    with session(args) as client:
        yield LiveFlink(client)


@contextmanager
def session(args: argparse.Namespace) -> Iterator[FlinkClient]:
    """Connect as `connected`, for questions of one's own."""
    # Our errors say what its warnings about retries would.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    credentials = find_credentials(args.credentials)
    with FlinkClient(args.jobmanager, credentials, args.ca_file) as client:
        yield client
