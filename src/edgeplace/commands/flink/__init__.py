"""The commands below `edgeplace flink`, one a file."""
