"""Hosts, links and processors of the emulated edge."""
