"""From text to plain data, and what is wrong with it, by line."""
