"""Check whether a Flink and its files are ready for plans."""
