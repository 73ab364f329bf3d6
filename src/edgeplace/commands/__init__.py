"""The behaviour of each command, one a file."""
