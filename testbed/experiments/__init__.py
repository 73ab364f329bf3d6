"""The experiments on the clusters."""
