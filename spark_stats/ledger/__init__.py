"""The ledger: sums of the closed segments of a log, each counted once, in Parquet."""
