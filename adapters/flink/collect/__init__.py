"""Collect a metric log from a running Flink."""
