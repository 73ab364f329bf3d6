"""`edgeplace control`: one module a command."""
