"""A case from files: job, cluster, costs, rules, and what-ifs on them."""
