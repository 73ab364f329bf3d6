"""Flink clusters on this machine."""
