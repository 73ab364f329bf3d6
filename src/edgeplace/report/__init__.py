"""A plan or a bench as one HTML file that loads nothing."""
