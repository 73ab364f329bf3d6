"""Apply a plan to a running Flink, as one transaction."""
