"""Flink's metric reporters, and the servers that take what they report."""
