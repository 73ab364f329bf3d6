"""The checks that `apply` and `doctor` share."""
