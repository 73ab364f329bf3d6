"""After the plan: reasons, other places, prices, and what others would do."""
