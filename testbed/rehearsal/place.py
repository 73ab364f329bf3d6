"""Where a rehearsal happens: a Pi beside the data, a hall with a machine near it, and a cloud."""

from testbed.world import CLOUD, SERVER, QuotaMachine, TestbedLayout

FIELD, HALL = "field", "hall"
PI, HALL_MACHINE = "pi-1", "hall-1"
LAYOUT = TestbedLayout(
    (
        QuotaMachine(PI, FIELD, "pi", 6, "720m", 0.5),
        QuotaMachine(HALL_MACHINE, HALL, "server", 8, "720m", 0.4),
        QuotaMachine(SERVER, CLOUD, "server", 14, "980m", 0.6),
    ),
    ((FIELD, CLOUD), (HALL, CLOUD), (FIELD, HALL)),
)
"""No other site has to be passed on the way between two."""
HEARTBEAT_S = 10.0
SETTINGS = {
    "heartbeat.interval": "1000",
    "heartbeat.timeout": f"{HEARTBEAT_S * 1000:.0f}",
    "heartbeat.rpc-failure-threshold": "2",
    # Else a site that is cut off stops all metrics for ten minutes.
    "web.timeout": "20 s",
}
NEAR_PRICE = 0.2
"""Of a byte between field and hall; one to the cloud costs 1."""
WORKLOAD = {
    "sources": "2",
    "selectivity": "0.3",
    "record-bytes": "2000",
    # About a millisecond of the first compiler's code.
    "work": "250000",
}
