"""A plan or a bench as one HTML file: no server, no script, nothing fetched."""
