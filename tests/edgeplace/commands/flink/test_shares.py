"""`edgeplace flink shares` against a Flink of memory, and routers that say what the tests want."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgeplace.adapters.flink.rest import FlinkClient, LiveFlink
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.commands.control.running.weighing import WeightsInForce, weigh
from edgeplace.control.loop.events import Weigh

TASK = "words: combine"
FILE = f"{TASK} (1/2); 1\n{TASK} (2/2); 3\n"


@pytest.fixture
def run(edgeplace, flink):
    def ran(*more):
        return edgeplace("flink", "shares", *more, "--jobmanager", flink.url, "--timeout", 2)

    return ran


@pytest.fixture
def report(flink, plans) -> Callable[..., None]:
    """Write what the routers of the job report."""
    job = flink.jobs[0].id

    def write(weights=None, sha256=None, refused=(), following=2) -> None:
        split = {
            "combine": TASK,
            "workers": 2,
            "routers": 2,
            "routers_following": following,
            "weights": weights,
            "records_per_s": 4000,
            "level_records_per_s": 2000.0,
            "imbalance": 0.0312,
            "fan_out": 1.5,
            "frequent_keys": 8,
            "frequent_share": 0.6,
            "load_records_per_s": [1000, 3000],
            "hot": [{"hash": "00f5f5281520bfc2", "share": 0.4, "workers": 2}],
        }
        document = {
            "edgeplace_keys": 1,
            "job_id": job,
            "job_name": "wordcount",
            "shares_file": str(plans / "wordcount.shares"),
            "shares_sha256": sha256,
            "used_sha256": None if refused else sha256,
            "epoch": 0,
            "refused": refused,
            "splits": [split],
            "updated_ms": round(1000 * time.time()),
        }
        draft = plans / ".keys"
        draft.write_text(json.dumps(document))
        draft.rename(plans / f"{job}.keys.json")

    return write


@contextmanager
def routers(plans: Path, report: Callable[..., None], refused=(), but=None) -> Iterator[None]:
    """Judge the file of weights once it is there, if it has another text than `but`."""
    ended = threading.Event()

    def judge() -> None:
        file = plans / "wordcount.shares"
        while not ended.is_set():
            if file.exists() and file.read_text() != but:
                sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
                report(None if refused else {"*": [1.0, 3.0]}, sha256, refused)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=judge)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture
def shares(tmp_path) -> Path:
    file = tmp_path / "my.shares"
    file.write_text(FILE)
    return file


def test_weights_are_written_and_seen_in_force(run, plans, report, shares):
    report()
    with routers(plans, report):
        ran = run(shares)
    assert ran.status is ExitStatus.OK, ran.err
    assert (plans / "wordcount.shares").read_text() == FILE.replace("; 1", "; 1.0").replace(
        "; 3", "; 3.0"
    )
    assert "2 of 2 routers use these weights" in ran.out
    assert "3.1% above its share" in ran.out


@pytest.mark.parametrize("former", [None, "words: combine (1/3); 1\n"])
def test_after_weights_that_the_routers_refuse_the_former_file_is_there(
    run, plans, report, shares, former
):
    file = plans / "wordcount.shares"
    said = "it has weights for 2 subtasks, and there are 3"
    with routers(plans, report, refused=[said], but=former):
        if former is not None:
            file.write_text(former)
        ran = run(shares)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "there are 3" in ran.err
    assert (file.read_text() if file.exists() else None) == former


def test_routers_that_say_nothing(run, shares):
    ran = run(shares)
    assert ran.status is ExitStatus.NOT_APPLIED
    assert "no router of the job has reported" in ran.err


def test_a_wrong_file_is_not_written(run, plans, shares):
    shares.write_text(FILE.replace("; 3", "; -3"))
    ran = run(shares)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "line 2: '-3' is no weight" in ran.err
    assert not list(plans.glob("*.shares"))


def test_the_weights_in_force_are_shown(run, report):
    report()
    ran = run()
    assert ran.status is ExitStatus.OK, ran.err
    assert TASK in ran.out
    document = json.loads(run("--json").out)
    assert document["splits"][0]["load_records_per_s"] == [1000.0, 3000.0]


def test_a_job_without_routers(run):
    ran = run()
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "no router of job 'wordcount' reports" in ran.err


def test_the_loop_reads_what_is_in_force_and_writes_its_own_with_its_epoch(flink, plans, report):
    report()
    even, wanted = {TASK: ((0.5, 0.5),) * 2}, {TASK: ((0.25, 0.75),) * 2}
    with FlinkClient(flink.url) as client:
        live = LiveFlink(client)
        found = WeightsInForce(live, str(plans))
        job = flink.jobs[0].id
        assert found.tell(job) == even and found.tell(job) is None, "told once"

        def ended(former):
            effect = Weigh(id="c1", weights=wanted, former=former, limit_s=2.0)
            return weigh(effect, live, "wordcount", str(plans), epoch=7)

        other = ended(former={TASK: ((1.0, 0.0),) * 2})
        assert other.end == "refused" and "somebody has changed" in other.reasons[0]
        report(following=1)
        stuck = ended(even)
        assert stuck.end == "interrupted" and "not all routers follow" in stuck.reasons[0]
        assert found.tell(job) == {} and found.tell(job) is None
        report({"*": [1e-12, 1.0]})
        assert found.tell(job)[TASK][0][0] == 0.0, "a file has no 1e-12"
        report()
        assert not list(plans.glob("*.shares"))
        with routers(plans, report):
            assert ended(even).end == "applied"
        lines = (plans / "wordcount.shares").read_text().splitlines()
        assert lines == ["# epoch: 7", f"{TASK} (1/2); 0.25", f"{TASK} (2/2); 0.75"]
        assert ended(even).end == "unchanged" and found.tell(job) == wanted
        (plans / "wordcount.shares").unlink()
        report()
        with routers(plans, report, refused=["its epoch is 7, and 9 was seen before"]):
            assert ended(even).end == "refused"
