"""Controlling: forecast a job's load, decide ahead, and simulate what policies would do."""
