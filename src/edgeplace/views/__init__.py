"""Tables and pictures on a terminal."""
