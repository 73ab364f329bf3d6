"""The states of a Flink job in which it does not run on."""

GLOBALLY_TERMINAL = frozenset({"FINISHED", "CANCELED", "FAILED"})
"""The job has ended for good."""
TERMINAL = GLOBALLY_TERMINAL | {"SUSPENDED"}
"""The job has ended on this JobManager. With high availability, another one may take over a
SUSPENDED job, with the same id: so `collect` waits for it, and `apply` does not go on."""
