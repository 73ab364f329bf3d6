"""Questions to the solver, and its answers."""
