"""A Flink of arithmetic, and the real step in it."""
