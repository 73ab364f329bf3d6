"""Explanations of a plan: reasons, other places, prices, and plans of other methods."""
