"""The headline's cells, predicted by version 0.2 beside today's version.

    python benchmarks/headline_of_0_2.py

Version 0.2 comes from this repository's history (commit bf9fc35, of 22 November 2026) and runs in
its own process. It gets what it would have measured: processor costs of the logs at full speed,
divided by busy time, no background, and selectivities and sizes as they are. Fields that it does
not know are left out. The script writes the table benchmarks/headline/beside_0.2.md.
"""

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "headline"
TABLE = FOLDER / "beside_0.2.md"
COMMIT = "bf9fc35"
PACKAGES = ("model", "solver", "spark_stats", "adapters", "instances")
LOGS = ("at_the_edge-100", "half_and_half-100")
"""Logs at full speed. Version 0.2 took the costs of the first one, and what it lacks of the other.
"""
NEAR = {"sustained": 0.105, "WAN bytes": 0.08}


def unpack(folder: Path) -> None:
    """Write version 0.2 to a folder, so that `src` has its whole package."""
    packed = subprocess.run(
        ["git", "archive", COMMIT, "src", "testbed", *PACKAGES],  # noqa: S607 - the one in the PATH
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    for name in PACKAGES:
        (folder / "src" / "edgeplace" / name).symlink_to(folder / name)


def with_old_costs(job: dict[str, Any], costs: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Return a job document with the processor costs that version 0.2 would have.

    Parameters
    ----------
    costs
        Milliseconds a record, by the operator's name and the class of nodes.
    """
    for operator in job["operators"]:
        # The others are estimates, which version 0.2 did not make.
        operator["cost"]["classes"] = [
            {**each, "cpu_ms_per_record": costs[operator["name"], each["node_class"]]}
            for each in operator["cost"]["classes"]
            if (operator["name"], each["node_class"]) in costs
        ]
    return job


def old_costs(workload: str) -> dict[tuple[str, str], float]:
    """Return the costs of a workload's logs at full speed; of logs measured twice, the later."""
    found: dict[tuple[str, str], float] = {}
    rows = [json.loads(line) for line in (FOLDER / "costs_by_log.jsonl").read_text().splitlines()]
    for log in reversed(LOGS):
        for row in rows:
            if row["workload"] == workload and row["log"] == log:
                found[row["operator"], row["node_class"]] = row["cpu_ms_per_record"]
    return found


def predict_by_old(folder: Path) -> None:
    """Print the predictions of version 0.2 as JSON; this process imports it.

    Parameters
    ----------
    folder
        Of version 0.2.
    """
    sys.path[:0] = [str(folder / "src"), str(folder)]
    from pydantic import ValidationError

    from edgeplace.model import JobGraph  # These imports find version 0.2.

    headline_report: Any = import_module("testbed.headline_report")

    def known(kind: Any, document: dict[str, Any]) -> Any:
        while True:
            try:
                return kind.model_validate(document)
            except ValidationError as error:
                unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
                if not unknown:
                    raise
                for *path, name in unknown:
                    holder: Any = document
                    for key in path:
                        holder = holder[key]
                    del holder[name]

    def read(file: Path, kind: Any) -> Any:
        document = json.loads(file.read_text())
        for name in ("format", "version"):
            document.pop(name)
        if kind is JobGraph:
            workload = file.name.removesuffix(".job.json").rpartition("-")[0]
            document = with_old_costs(document, old_costs(workload))
        return known(kind, document)

    assert Path(headline_report.__file__).is_relative_to(folder)
    headline_report.read = read
    json.dump([cell["predicted"] for cell in headline_report.cells_of(FOLDER)], sys.stdout)


def row(cell: Mapping[str, Any], old: Mapping[str, float], idle: float) -> dict[str, Any]:
    """Return what a cell measured, and both predictions."""
    from testbed.experiments.headline_report import of_offered

    def both(of: Callable[[Mapping[str, float]], float]) -> tuple[float, float]:
        return of(old), of(cell["predicted"])

    return {
        "where": f"{cell['workload']} | {cell['mbit_per_s']:g} | {', '.join(cell['policies'])}",
        "sustained": (
            cell["full"]["per_subtask"],
            *both(lambda said: of_offered(cell, said["sustained_per_subtask"])),
        ),
        "WAN bytes": (
            cell["steady"]["wan_bytes_per_s"],
            *both(lambda said: said["wan_bytes_per_s"] + idle),
        ),
    }


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# The headline's cells, predicted by version 0.2 and by this one"
    yield ""
    yield (
        f"`benchmarks/headline_of_0_2.py` writes this page. Version 0.2 is commit {COMMIT}. Both "
        "versions predict the same placements. Version 0.2 has the costs that it would have taken: "
        "of the logs at full speed, by busy time. It knows no speed of the cores, which this "
        "version counts; without that, this version's median is in the headline's last table. "
        "Errors are (predicted - measured) / measured."
    )
    yield ""
    yield "| figure | version | cells | median error | within | worst |"
    yield "|---|---|---|---|---|---|"
    for figure, near in NEAR.items():
        for version, name in ((1, "0.2"), (2, "this")):
            off = [each[figure][version] / each[figure][0] - 1 for each in rows]
            yield (
                f"| {figure} | {name} | {len(off)} | {median(map(abs, off)):.1%} "
                f"| {sum(abs(e) <= near for e in off)} within {near:.1%} "
                f"| {max(off, key=abs):+.0%} |"
            )
    yield ""
    yield "| job | Mbit/s | placement | sustained | 0.2 | this | WAN bytes/s | 0.2 | this |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in rows:
        figures = (
            f"{each[figure][0]:,.0f} | "
            + " | ".join(f"{said / each[figure][0] - 1:+.1%}" for said in each[figure][1:])
            for figure in NEAR
        )
        yield f"| {each['where']} | {' | '.join(figures)} |"


def main() -> None:
    """Write and print the table."""
    sys.path.insert(0, str(ROOT))
    from testbed.experiments.headline_report import ENVIRONMENT, cells_of

    with tempfile.TemporaryDirectory() as scratch:
        unpack(Path(scratch))
        said = subprocess.run(
            [sys.executable, __file__, scratch], stdout=subprocess.PIPE, check=True
        )
    idle = sum(json.loads((FOLDER / ENVIRONMENT).read_text())["idle_link_bytes_per_s"].values())
    cells = cells_of(FOLDER)
    rows = [row(cell, old, idle) for cell, old in zip(cells, json.loads(said.stdout), strict=True)]
    text = "\n".join(table(rows)) + "\n"
    TABLE.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        predict_by_old(Path(sys.argv[1]))
    else:
        main()
