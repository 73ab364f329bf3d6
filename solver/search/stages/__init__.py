"""The stages of the search, one file each; `solver/search/search.py` is the recipe."""
