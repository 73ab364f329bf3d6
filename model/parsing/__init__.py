"""Read input files, parse them to plain data, and report errors with their lines."""
