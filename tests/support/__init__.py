"""Shared by tests: cases, fakes, oracles. No tests."""
