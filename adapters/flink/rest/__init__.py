"""Everything that reads Flink's REST answers, live or saved."""
