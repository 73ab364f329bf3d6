import json
from pathlib import Path
from typing import Any

import pytest

from edgeplace.model import Cluster

DATA = Path(__file__).parent / "data" / "flink_2_3"


@pytest.fixture
def saved() -> Path:
    """A folder of answers of Flink 2.3.0: 6 vertices on 3 TaskManagers."""
    return DATA


@pytest.fixture
def answers() -> dict[str, Any]:
    """The same answers by file name, fresh for each test."""
    return {p.stem: json.loads(p.read_text()) for p in DATA.glob("*.json")}


@pytest.fixture
def user_cluster() -> Cluster:
    return Cluster.model_validate(
        {
            "sites": [{"id": "field"}, {"id": "hall", "tier": "cloud"}],
            "nodes": [
                {"id": "pi-1", "site": "field", "cores": 4, "slots": 2, "host": "127.0.0.2"},
                {"id": "pi-2", "site": "field", "cores": 4, "slots": 4, "host": "127.0.0.3"},
                {"id": "server", "site": "hall", "cores": 16},
            ],
            "task_managers": [{"id": "127.0.0.4:41063-393f59", "node": "server", "slots": 8}],
            "links": [{"source": "field", "target": "hall", "both_ways": True}],
        }
    )
