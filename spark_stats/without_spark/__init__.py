"""The steps from a log to its sums in plain Python, for logs that are too small to wait for Spark.

They follow `readers/`, `wide_table.py` and `counter_deltas.py`, and give the same to the last
digit: tests/spark_stats/test_same_without_spark.py.
"""
