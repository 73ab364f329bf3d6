"""The commands that read a log, on the recorded demo."""

import gzip
import json
import re
from pathlib import Path

import pytest

from edgeplace.adapters.flink import load_job, schedulercfg
from edgeplace.instances import path
from edgeplace.model import Cluster, Costs, InvalidInputError, Plan, read

LOG, CLUSTER, RULES = (
    path(f"demo/{name}") for name in ("metrics.jsonl.gz", "cluster.yaml", "rules.yaml")
)


def test_the_demo_goes_the_whole_way(edgeplace):
    ran = edgeplace("demo")
    assert ran.status == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    job, _ = load_job(LOG)
    _, _, measured, decided, applied = re.split(r"^\d\. ", ran.out, flags=re.MULTILINE)
    for op in job.operators:
        assert f"\n{op.name}" in measured
    assert "optimal, proved" in decided
    assert re.search(
        r"^weak: window on server \(busy 2\.\d\d% of the time\), sink: Writer on pi \(busy 0\.15%",
        measured,
        re.MULTILINE,
    )
    assert "2 CPU costs are weak" in decided
    assert "'window' on 'server' (busy 2.49% of the time): record 60 s at 3 times this" in decided
    table, _, reasons = decided.partition("why each operator is where it is\n")
    for policy in ("edgeplace", "current", "all-server", "flink-spread", "threshold"):
        assert f"\n{policy} " in table
    rows = dict.fromkeys(op.name for op in job.operators)
    for row in reasons.splitlines()[1 : 1 + len(rows)]:
        name = next(n for n in rows if row.startswith(f"{n} "))
        rows[name] = row.removeprefix(name).strip()
    assert all(rows.values()), rows
    assert f"\nthe demo's files: {LOG.parent}\nnext: edgeplace init, " in applied
    assert "held there: pin Source: sensors" in rows["Source: sensors"]
    lines = applied.split("\n", 1)[1].partition("\nthe demo's files:")[0]
    cluster = read(CLUSTER, Cluster)
    placed = schedulercfg.parse(lines, job=job, cluster=cluster)
    sites = [cluster.node(tm).site for tm in placed[job.operator("Source: sensors").id]]
    assert sites == ["lyon", "lyon", "nice", "nice"]


def test_costs_then_solve_in_files(edgeplace, tmp_path):
    costs, plan, cfg = (tmp_path / n for n in ("costs.json", "plan.json", "schedulercfg"))
    bad = tmp_path / "bad.jsonl"
    ran = edgeplace("costs", LOG, "--cluster", CLUSTER, "-o", costs, "--quarantine", bad)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith(f"costs written to {costs}\n")
    assert re.search(r"^Source: sensors emits [\d,]+ records/s", ran.out, re.MULTILINE)
    assert bad.read_text() == ""

    again = edgeplace("costs", LOG, "--cluster", CLUSTER, "--json")
    found = json.loads(again.out)
    assert found == json.loads(costs.read_text())
    assert {"format", "version", "job", "operators", "streams", "placement"} <= set(found)
    assert set(found) <= set(Costs.model_fields)

    ran = edgeplace(
        *("solve", LOG, CLUSTER, "--costs", costs, "--rules", RULES),
        *("-o", plan, "--schedulercfg", cfg, "--json"),
    )
    assert (ran.status, ran.err) == (0, "")
    result = json.loads(ran.out)
    assert result["status"] == "optimal"
    assert result["compared"]["current"]["violations"]
    job, _ = load_job(LOG)
    assert schedulercfg.read(cfg, job=job, cluster=read(CLUSTER, Cluster)) == read(plan, Plan).of(
        job.name
    )


def test_spark_on_this_machine_gives_the_same(needs_spark, edgeplace):
    argv = ("costs", LOG, "--cluster", CLUSTER, "--json")
    here, there = edgeplace(*argv), edgeplace(*argv, "--master", "local[2]")
    assert (there.status, there.out) == (0, here.out)


def test_costs_without_a_cluster_say_what_they_are_worth(edgeplace):
    ran = edgeplace("costs", LOG)
    assert ran.status == 0
    assert ran.err == (
        "without --cluster all machines count as one class, 'default': the costs of a Pi and of a "
        "server are one mean\n"
    )


def test_costs_of_no_such_log_exit_2(edgeplace, tmp_path):
    ran = edgeplace("costs", tmp_path / "none.jsonl")
    assert ran.status == 2
    assert str(tmp_path / "none.jsonl") in ran.err
    assert "  cure: " in ran.err


def test_costs_of_an_unknown_format_exit_2(edgeplace, tmp_path):
    (tmp_path / "log.txt").write_text("no metrics here\n" * 5)
    ran = edgeplace("costs", tmp_path / "log.txt")
    assert ran.status == 2
    assert "log.txt" in ran.err


def test_a_folder_of_parquet_that_exists_is_refused_before_the_log_is_read(edgeplace, tmp_path):
    ran = edgeplace("costs", tmp_path / "none.jsonl", "--parquet", tmp_path)
    assert ran.status == 2
    assert f"--parquet {tmp_path}: exists already\n" in ran.err


def test_a_placement_needs_job_and_cluster(edgeplace, tmp_path):
    ran = edgeplace("costs", LOG, "--placement", tmp_path / "cfg", "--cluster", CLUSTER)
    assert ran.status == 2
    assert ran.err.endswith("\n  cure: give --job and --cluster too\n")


@pytest.mark.parametrize("rate", ["sensors", "sensors=", "=5", "sensors=-1", "sensors=inf"])
def test_a_wrong_rate_exits_2(edgeplace, rate):
    ran = edgeplace("costs", LOG, "--rate", rate)
    assert ran.status == 2
    assert f"--rate {rate!r} is not understood" in ran.err


def test_the_shipped_files_are_found_by_name():
    with pytest.raises(FileNotFoundError, match="ships no file 'demo/none'"):
        path("demo/none")
    with pytest.raises(InvalidInputError):
        read(RULES, Cluster)


def test_cut_lines_of_otlp_are_named_and_the_others_are_read(edgeplace, tmp_path):
    """As a collector leaves a file whose disk was full, and one that it was still writing."""
    data = Path(__file__).parents[2] / "spark_stats" / "data" / "otlp_reporter.jsonl.gz"
    lines = gzip.decompress(data.read_bytes()).decode().splitlines()[:24]
    log, whole = tmp_path / "otlp.jsonl", tmp_path / "whole.jsonl"
    whole.write_text("\n".join(lines))
    log.write_text("\n".join([*lines[:9], lines[9][:500], *lines[9:], lines[0][:70]]))
    costs, bad = tmp_path / "costs.json", tmp_path / "bad.jsonl"
    ran = edgeplace("costs", log, "-o", costs, "--quarantine", bad)
    assert ran.status == 0, ran.err
    assert f"{log}:10: " in ran.err
    assert f"{log}:{len(lines) + 2}: " in ran.err
    kept = [json.loads(line) for line in bad.read_text().splitlines()]
    assert [(each["file"], each["line"]) for each in kept] == [
        (str(log), 10),
        (str(log), len(lines) + 2),
    ]
    edgeplace("costs", whole, "-o", tmp_path / "of-whole.json")
    assert read(costs, Costs).operators == read(tmp_path / "of-whole.json", Costs).operators
