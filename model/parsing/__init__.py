"""Parse text to plain data, and report errors with their lines."""
