"""Closed forms by which costs hold at other rates than were measured."""
