"""What is measured on them."""
