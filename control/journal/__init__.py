"""The journal of the loop, and its file."""
