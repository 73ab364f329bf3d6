"""What a plan uses and breaks. Shares no code with the formulation."""
