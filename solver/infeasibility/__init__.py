"""Infeasibility: the reasons, and the changes that would allow a plan."""
