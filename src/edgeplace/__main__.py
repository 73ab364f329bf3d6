"""`python -m edgeplace`."""

from edgeplace.cli import entry

entry()
