"""Cluster files in short: groups of sites, templates, patterns."""
