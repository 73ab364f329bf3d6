"""A linear model, and the back ends that solve it."""
