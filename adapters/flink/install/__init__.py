"""Install the agent's jar into a Flink home."""
