"""The resources that a plan uses and the limits it breaks. Shares no code with the formulation."""
