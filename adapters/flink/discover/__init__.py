"""Make a cluster file from the TaskManagers that Flink has registered."""
