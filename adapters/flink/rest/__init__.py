"""Everything that reads Flink's REST answers, live or saved."""

from edgeplace.adapters.flink.rest.answer import need
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.credentials import find_credentials
from edgeplace.adapters.flink.rest.job_choice import choose, is_job_id, listed
from edgeplace.adapters.flink.rest.live import LiveFlink, RunningJob
from edgeplace.adapters.flink.rest.task_managers import names_of
from edgeplace.adapters.flink.rest.topology import placement, vertices_of

__all__ = [
    "FlinkClient",
    "LiveFlink",
    "RunningJob",
    "choose",
    "find_credentials",
    "is_job_id",
    "listed",
    "names_of",
    "need",
    "placement",
    "vertices_of",
]
