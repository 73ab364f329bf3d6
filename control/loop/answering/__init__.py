"""What the solver is asked, and what it answers."""
