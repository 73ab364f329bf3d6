"""Expectations: the next day, its path, and the error of the costs."""
