"""Four subtasks that may spread over two clouds of unlike distance, and a wish that they do."""

import yaml

from edgeplace.model import Cluster, JobGraph, Rules, parse

CLUSTER = """
sites: [{id: edge}, {id: east, tier: cloud}, {id: west, tier: cloud}]
nodes:
  - {id: pi, site: edge, cores: 4, slots: 1}
  - {id: e, site: east, node_class: vm, cores: 4, slots: 4}
  - {id: w, site: west, node_class: vm, cores: 4, slots: 4}
links:
  - {source: edge, target: east, both_ways: true}
  - {source: edge, target: west, delay_ms: 5, both_ways: true}
  - {source: east, target: west, delay_ms: 50, both_ways: true}
"""
JOB = """
name: job
operators:
  - {id: camera, name: camera, parallelism: 1, born_at: [edge],
     cost: {demand: {rates_per_s: [10]}, classes: [{node_class: default, true_rate_per_s: 99}]}}
  - {id: track, name: track, parallelism: 4,
     cost: {classes: [{node_class: default, true_rate_per_s: 99},
                      {node_class: vm, true_rate_per_s: 99}]}}
streams:
  - {source: camera, target: track, ship_strategy: REBALANCE,
     cost: {selectivity: 1, bytes_per_record: 100}}
"""
SPREAD = {"kind": "spread", "operators": ["track"], "level": "site", "weight": 3}


def wishing(*wishes):
    """Return the job, the cluster, and rules with these wishes."""
    job, cluster = (
        parse(yaml.safe_load(JOB), JobGraph, "job"),
        parse(yaml.safe_load(CLUSTER), Cluster, "cluster"),
    )
    return job, cluster, Rules.model_validate({"wishes": wishes})
