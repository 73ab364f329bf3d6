"""Make a cluster file from what Flink has registered."""
