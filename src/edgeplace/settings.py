"""Figures given on the command line: `SOURCE=N` and `rate:SOURCE=N`."""

from collections.abc import Sequence

from edgeplace.model import InvalidInputError, JobGraph


def rates(texts: Sequence[str], option: str) -> dict[str, float]:
    """Return source -> records/s from texts such as `sensors=500`.

    Raises
    ------
    InvalidInputError
        If a text has no `=`, or its figure is no number of 0 or more.
    """
    found = {}
    for text in texts:
        # A name may hold `=`; a number does not.
        source, equals, figure = text.rpartition("=")
        try:
            rate = float(figure)
        except ValueError:
            rate = -1.0
        if not equals or not source or not 0 <= rate < float("inf"):
            raise InvalidInputError(
                f"{option} {text!r} is not understood", f"write {option} SOURCE=RECORDS_PER_SECOND"
            )
        found[source] = rate
    return found


def apply(job: JobGraph, settings: Sequence[str]) -> JobGraph:
    """Return the job with each `rate:SOURCE=N` applied.

    Raises
    ------
    InvalidInputError
        If a setting is of another kind, or its source is none of the job's.
    """
    plain = []
    for text in settings:
        kind, colon, rest = text.partition(":")
        if not colon or kind != "rate":
            raise InvalidInputError(
                f"--set {text!r} is not understood", "write --set rate:SOURCE=RECORDS_PER_SECOND"
            )
        plain.append(rest)
    for source, rate in rates(plain, "--set rate:").items():
        job = job.with_source_rate(source, rate)
    return job
