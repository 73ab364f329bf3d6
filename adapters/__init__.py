"""What joins edgeplace to stream processors."""
