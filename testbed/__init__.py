"""A real Flink cluster on one machine, slowed where a Raspberry Pi would be slow."""
