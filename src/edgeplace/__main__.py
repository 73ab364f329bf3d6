"""`python -m edgeplace`."""

from edgeplace.cli.main import entry

entry()
