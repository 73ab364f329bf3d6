"""Logs of two operators in segments, for tests of the ledger."""

import json
from pathlib import Path

from tests.support.measured import START

POLL_MS = 20_000
POLLS = 24


def poll(recording, number: int, restarts: set[int], moves: set[int], job: str = "a" * 32) -> None:
    """Write one poll of two operators; counters start anew after a restart."""
    at = START + POLL_MS * number
    since = number - max((n for n in restarts if n <= number), default=0)
    there = len([n for n in moves if n <= number]) % 2
    attempt = len([n for n in restarts if n <= number])
    recording.placed(at, "map", ["10.0.0.1", ["10.0.0.9", "10.0.0.2"][there]], attempt)
    recording.metrics(
        at + 5,
        "map",
        job,
        numRecordsIn=[1000 * since + number % 7, 300 * since],
        numBytesIn=[9000.0 * since, 2700 * since],
        accumulateBusyTimeMs=[512.5 * since, 33.25 * since if number % 5 else "NaN"],
    )
    recording.metrics(
        at + 6, "source", job, numRecordsOut=1300 * since, accumulateBusyTimeMs=64 * since
    )
    size = {"status": "COMPLETED", "state_size": 10 * number, "checkpointed_size": 900 + number**2}
    path = f"/jobs/{job}/checkpoints/details/{number // 2}/subtasks/id-map"
    recording.answer(at + 7, path, size)


def segments(recording, folder: Path, cuts: list[int], restarts=(), moves=()) -> list[Path]:
    """Write the polls between cuts as one file each."""
    folder.mkdir()
    recording.folder = folder
    recording.lines = []
    recording.job({"source": 1, "map": 2}, [("source", "map", "HASH")])
    files = []
    for i, (first, end) in enumerate(zip([0, *cuts], [*cuts, POLLS], strict=True)):
        for number in range(first, end):
            poll(recording, number, set(restarts), set(moves))
        recording.lines.append("garbage")
        files.append(recording.write(f"{i:02d}.jsonl"))
        recording.lines = []
    return files


def without_quarters(document: str) -> object:
    """Return costs without what depends on the quarters of the time, numbers rounded."""

    def cleaned(node: object) -> object:
        if isinstance(node, dict):
            kept = {k: v for k, v in node.items() if k not in ("by_quarter_per_s", "stationary")}
            kept["notes"] = [n for n in kept.get("notes", ()) if "drifts" not in n]
            return {k: cleaned(v) for k, v in kept.items()}
        if isinstance(node, list):
            return [cleaned(x) for x in node]
        return float(f"{node:.11g}") if isinstance(node, float) else node

    return cleaned(json.loads(document))
