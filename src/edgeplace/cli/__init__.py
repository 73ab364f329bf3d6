"""The command line: parsing, output, exit statuses."""
