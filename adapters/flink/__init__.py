"""Apache Flink: jobs, clusters and placements from its REST answers, plans into schedulercfg."""

from edgeplace.adapters.flink.rest.answer_files import (
    answers_from_files,
    answers_from_log,
    load_job,
)
from edgeplace.adapters.flink.rest.saved_answers import Placement, SavedAnswers
from edgeplace.adapters.flink.rest.task_managers import cluster
from edgeplace.adapters.flink.rest.topology import job_graph, placement

__all__ = [
    "Placement",
    "SavedAnswers",
    "answers_from_files",
    "answers_from_log",
    "cluster",
    "job_graph",
    "load_job",
    "placement",
]
