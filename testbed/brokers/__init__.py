"""Brokers of readings at the edge: servers, the job that reads them, and what must be counted."""
