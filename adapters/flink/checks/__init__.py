"""What `apply` and `doctor` both find out before a plan is trusted to the agent."""
