"""Control: forecast a job's load, plan ahead, and simulate scaling policies."""
