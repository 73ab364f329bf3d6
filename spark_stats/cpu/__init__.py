"""CPU time of a record by regression: minutes of a log, least squares, and when they are kept."""
