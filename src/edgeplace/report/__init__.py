"""A plan or a bench as one HTML file, without scripts and without further files."""
