"""Rehearsals: a schedule of failures on the testbed, and what the model says of them."""
