"""What is expected: the next day, its path, and how far the costs are off."""
