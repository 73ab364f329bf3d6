"""The states of a Flink job that has ended."""

GLOBALLY_TERMINAL = frozenset({"FINISHED", "CANCELED", "FAILED"})
"""The job has ended for good."""
TERMINAL = GLOBALLY_TERMINAL | {"SUSPENDED"}
"""The job has ended on this JobManager. With high availability, another JobManager may take over a
SUSPENDED job with the same id. So `collect` waits for it, and `apply` stops.
"""
