"""The text of a plan as the agent reads it."""

from edgeplace.adapters.flink.schedulercfg.parser import Dialect, parse, read, render, render_capsys

__all__ = ["Dialect", "parse", "read", "render", "render_capsys"]
