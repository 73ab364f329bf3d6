"""A Flink and a loop in memory, to run scaling policies on a recorded load."""
