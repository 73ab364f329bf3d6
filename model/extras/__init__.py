"""The extras of the installation: parts that are installed on demand."""
