"""Command line of the testbed."""

import argparse
import signal
import sys
from pathlib import Path

from testbed.errors import TestbedError
from testbed.flink_home import FLINK_VERSION
from testbed.record_demo import POLL_SECONDS, WARM_UP_SECONDS, record
from testbed.soak import KILLS, MOVES, soak


def main() -> int:
    """Run the command given and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record the demo log (needs root)")
    recording.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl.gz")
    recording.add_argument("--seconds", type=_seconds, default=180.0, help="default: 180")
    recording.add_argument("--warm-up", type=_seconds, default=WARM_UP_SECONDS, metavar="SECONDS")
    soaking = commands.add_parser("soak", help="move a counting job about and kill what runs it")
    soaking.add_argument("--flink", default=FLINK_VERSION, metavar="VERSION")
    soaking.add_argument("--moves", type=int, default=MOVES)
    soaking.add_argument("--kills", type=int, default=KILLS, help="of TaskManagers")
    arguments = parser.parse_args()
    # As an exception, so that the cluster is taken down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if arguments.command == "soak":
            return 0 if soak(arguments.flink, arguments.moves, arguments.kills) else 1
        record(arguments.out, arguments.seconds, arguments.warm_up)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _seconds(text: str) -> float:
    seconds = float(text)
    if seconds < POLL_SECONDS:
        raise argparse.ArgumentTypeError(f"at least {POLL_SECONDS:.0f} seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
