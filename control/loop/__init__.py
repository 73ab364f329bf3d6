"""Watching one job and deciding when to move it: a pure step, and the journal that replays it."""
