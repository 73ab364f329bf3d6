"""Adapters: they connect edgeplace to stream processors."""
