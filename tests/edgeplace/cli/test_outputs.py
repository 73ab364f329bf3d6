"""What `-o` and its like write, and what they leave alone."""

import json
import os
import stat
import threading

import pytest

from edgeplace.model import Plan, read, write

OLD = "an older file\n"


@pytest.fixture
def solve(edgeplace, job, wide):
    def run(*more):
        return edgeplace("solve", job, wide, *more)

    return run


@pytest.mark.parametrize("option", ["-o", "--schedulercfg", "--report"])
def test_a_symbolic_link_stays_and_what_it_leads_to_is_written(solve, tmp_path, option):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text(OLD)
    link.symlink_to(real)
    assert solve(option, link).status == 0
    assert link.is_symlink()
    assert real.read_text() != OLD


def test_a_link_to_what_is_not_there_yet_is_followed(solve, tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    assert solve("-o", tmp_path / "link.json").status == 0
    assert (tmp_path / "link.json").is_symlink()
    assert read(tmp_path / "real.json", Plan)


@pytest.mark.parametrize("option", ["-o", "--schedulercfg", "--report"])
def test_a_fifo_is_written_into(solve, tmp_path, option):
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()))
    reader.start()
    assert solve(option, fifo).status == 0
    reader.join()
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert len(got[0]) > 50


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_written_into(solve, tmp_path):
    null = tmp_path / "null"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this container may not make devices")
    assert solve("-o", null, "--schedulercfg", null, "--report", null).status == 0
    assert stat.S_ISCHR(null.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(solve, tmp_path, mode):
    file = tmp_path / "plan.json"
    file.write_text(OLD)
    file.chmod(mode)
    assert solve("-o", file).status == 0
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_read_only_file_is_not_written(solve, tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(OLD)
    file.chmod(0o444)
    ran = solve("-o", file)
    assert ran.status == 2
    assert "the file is read-only\n  cure: make it writable (chmod u+w " in ran.err
    assert file.read_text() == OLD


@pytest.mark.parametrize("option", ["-o", "--schedulercfg", "--report", "--pareto"])
@pytest.mark.parametrize("way", ["itself", "a link", "a hard link"])
def test_an_input_is_not_overwritten(edgeplace, job, wide, tmp_path, option, way):
    mine = tmp_path / "mine.svg"
    if way == "itself":
        job.rename(mine)
        job = mine
    elif way == "a link":
        mine.symlink_to(job)
    else:
        mine.hardlink_to(job)
    before = job.read_bytes()
    ran = edgeplace("solve", job, wide, option, mine)
    assert ran.status == 2
    assert f"{option} {mine}: it would overwrite what is read here" in ran.err
    assert job.read_bytes() == before


def test_a_log_in_a_folder_of_logs_is_not_overwritten(edgeplace, tmp_path):
    log = tmp_path / "metrics.jsonl"
    log.write_text("{}\n")
    ran = edgeplace("costs", tmp_path, "-o", log)
    assert ran.status == 2
    assert f"-o {log}: it would overwrite what is read here, in {tmp_path}" in ran.err
    assert log.read_text() == "{}\n"


def test_two_outputs_are_not_one_file(solve, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "x")
    ran = solve("-o", tmp_path / "x", "--report", tmp_path / "link")
    assert ran.status == 2
    assert "-o and --report would both write it" in ran.err
    assert not (tmp_path / "x").exists()


def test_a_dash_is_standard_output_and_people_read_standard_error(solve, tmp_path):
    to_file = solve("-o", tmp_path / "plan.json")
    ran = solve("-o", "-")
    assert ran.status == 0
    assert ran.out == (tmp_path / "plan.json").read_text()
    assert "optimal, proved" in ran.err
    assert "plan written to" in to_file.out
    assert "written to" not in ran.err
    assert solve("--pareto", "-").out.startswith("<svg ")
    assert solve("--report", "-").out.startswith("<!DOCTYPE html>")
    assert not list(tmp_path.glob("-*"))


@pytest.mark.parametrize(
    "options",
    [("-o", "-", "--report", "-"), ("-o", "/dev/stdout", "--json"), ("-o", "-", "--json")],
)
def test_only_one_document_goes_to_standard_output(solve, options):
    ran = solve(*options)
    assert ran.status == 2
    assert "would all write to standard output" in ran.err


@pytest.mark.parametrize("limit", [(), ("--time-limit", "0")])
def test_a_stale_plan_is_not_left_in_silence(edgeplace, job, narrow, tmp_path, limit):
    plan, cfg = tmp_path / "plan.json", tmp_path / "new.schedulercfg"
    plan.write_text(OLD)
    ran = edgeplace("solve", job, narrow, "-o", plan, "--schedulercfg", cfg, "--json", *limit)
    assert ran.status == (5 if limit else 3)
    said = f"plan not written to {plan}: no plan was found; the existing file is older\n"
    assert ran.err == f"{said}schedulercfg not written to {cfg}: no plan was found\n"
    assert plan.read_text() == OLD
    assert json.loads(ran.out)["plan"] is None


@pytest.mark.parametrize("name", ["front.png", "front", "front.svg.gz"])
def test_a_picture_is_named_what_it_is(solve, tmp_path, name):
    ran = solve("--pareto", tmp_path / name)
    assert ran.status == 2
    assert "the picture is SVG" in ran.err
    assert "name the file FILE.svg" in ran.err


def test_a_plan_of_what_is_not_there_says_so_and_is_not_applied(
    edgeplace, job, wide, tmp_path, apply
):
    file = tmp_path / "supposed.json"
    assert edgeplace("solve", job, wide, "--set", "rate=x2", "-o", file).status == 0
    assert read(file, Plan).supposing == ("rate=x2",)
    assert edgeplace("explain", job, wide, file).status == 0
    ran = apply(of=file)
    assert ran.status == 2
    assert "is a plan for what is not there: solve --set rate=x2\n  cure: solve again" in ran.err
    cfg = tmp_path / "supposed.schedulercfg"
    ran = edgeplace("solve", job, wide, "--set", "rate=x2", "--schedulercfg", cfg)
    assert ran.status == 2
    assert "--set supposes what is not there" in ran.err
    assert not cfg.exists()


def test_a_plan_of_two_jobs_is_not_explained_as_if_it_were_of_one(edgeplace, job, wide, tmp_path):
    plan = tmp_path / "plan.json"
    assert edgeplace("solve", job, wide, "-o", plan).status == 0
    own = read(plan, Plan)
    write(Plan(jobs={**own.jobs, "second": {"a": ("server",)}}), plan)
    for question in ((), ("--subtask", "filter (1/4)")):
        ran = edgeplace("explain", job, wide, plan, *question)
        assert ran.status == 2
        assert "the plan places 'filter' and 'second'" in ran.err
        assert "give the files of all these jobs (JOB JOB CLUSTER), or --taken" in ran.err
