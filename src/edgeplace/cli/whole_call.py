"""The time limit of a whole command, counted from the reading of its arguments."""

import argparse
from collections.abc import Callable
from functools import wraps

from edgeplace.cli.console import Console
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import InvalidInputError

Run = Callable[[argparse.Namespace, Console], ExitStatus]


def within_time_limit(run: Run) -> Run:
    """Return a command whose searches, comparisons and explanations share `--time-limit`."""

    @wraps(run)
    def timed(args: argparse.Namespace, console: Console) -> ExitStatus:
        # This condition refuses nan, too.
        if args.time_limit is not None and not args.time_limit >= 0:
            raise InvalidInputError(
                f"time limit {args.time_limit} must not be negative", "use 0 or more"
            )
        # This import loads the solver, before the clock starts.
        from edgeplace.solver.clock import limited

        with limited(args.time_limit):
            return run(args, console)

    return timed


def share_s(share: float) -> float | None:
    """Return a share of the remaining seconds, None without a limit."""
    from edgeplace.solver.clock import running

    left = running().left()
    return None if left is None else left * share


def time_is_over() -> bool:
    """Return whether the time limit is over."""
    from edgeplace.solver.clock import running

    return running().left() == 0.0
