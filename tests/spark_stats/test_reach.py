import socket
import threading

import pytest

from edgeplace.cli.main import main
from edgeplace.model import InvalidInputError, MissingExtraError
from edgeplace.spark_stats import SparkUnavailableError, reach
from edgeplace.spark_stats.files import on_disk

PYSPARK = pytest.importorskip("pyspark", reason="the spark extra is not installed")


@pytest.fixture
def silent():
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


@pytest.mark.parametrize("url", ["spark://host", "http://host:7077", "spark://", "mesos://h:1", ""])
def test_no_url_of_a_master(url):
    with pytest.raises(InvalidInputError, match="no URL of a master"):
        reach.check_master(url)


@pytest.mark.parametrize("url", ["http://host", "sc:/host", "sc://", "sc://host:port"])
def test_no_url_of_a_connect_server(url):
    with pytest.raises(InvalidInputError, match="no URL of a Spark Connect server"):
        reach.check_connect(url)


@pytest.mark.parametrize("url", ["spark://127.0.0.1:{}", "k8s://https://127.0.0.1:{}/x"])
def test_nobody_answers(url, silent):
    with pytest.raises(SparkUnavailableError, match=rf"127\.0\.0\.1:{silent}: Connection refused"):
        reach.check_master(url.format(silent))


def test_one_master_of_several_is_enough(silent):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach.check_master(f"spark://127.0.0.1:{silent},127.0.0.1:{port}")


def test_a_connect_server_that_does_not_answer(silent, monkeypatch):
    monkeypatch.setattr(reach, "_CONNECT_PARTS", ())
    with pytest.raises(SparkUnavailableError, match="nobody answers at sc://"):
        reach.check_connect(f"sc://127.0.0.1:{silent}/;user_id=me")


def test_connect_without_its_client(monkeypatch):
    monkeypatch.setattr(reach, "_CONNECT_PARTS", ("no_such_part", "no_such.part"))
    with pytest.raises(MissingExtraError, match=r"no_such_part, no_such\.part") as e:
        reach.check_connect("sc://127.0.0.1")
    assert "pyspark[connect]" in e.value.cure


def test_yarn_without_its_configuration(monkeypatch):
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InvalidInputError) as e:
        reach.check_master("yarn")
    assert "HADOOP_CONF_DIR" in e.value.cure


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("5m", 300), ("500ms", 0.5)])
def test_patience_is_that_of_spark(text, seconds):
    assert reach.patience_s({"spark.network.timeout": text}) == seconds


def test_patience_is_a_duration():
    with pytest.raises(InvalidInputError, match="soon"):
        reach.patience_s({"spark.network.timeout": "soon"})


def test_work_without_an_end_is_given_up():
    ends = threading.Event()
    with pytest.raises(SparkUnavailableError, match=r"no answer within 0\.05 s"):
        reach.within(0.05, "no answer", ends.wait)
    ends.set()
    assert reach.within(60, "no answer", lambda: 7) == 7
    with pytest.raises(KeyError):
        reach.within(60, "no answer", lambda: {}[1])


@pytest.mark.parametrize(
    ("path", "here"),
    [
        ("a.jsonl", True),
        ("/x/a.jsonl", True),
        ("file:///x", False),
        ("s3a://b/c", False),
        ("logs/*.gz", False),
        ("gone/[1].gz", False),
    ],
)
def test_which_paths_are_of_this_machine(path, here):
    assert on_disk([path]) is here
    assert on_disk(["b.jsonl", path]) is here


def test_a_file_named_like_a_pattern_is_of_this_machine(tmp_path):
    named = tmp_path / "a [1].jsonl"
    named.touch()
    assert on_disk([named])


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--master", "spark://127.0.0.1:1"], 8, "nobody answers at spark://127.0.0.1:1"),
        (["--master", "spark//127.0.0.1"], 2, "no URL of a master"),
        (["--master", "localhost:7077"], 2, "no URL of a master"),
        (["--conf", "executor.memory=4g"], 2, "no setting of Spark"),
        (["--conf", "spark.master=spark://h:7077"], 2, "does not say where Spark runs"),
        (["--master", "yarn", "--remote", "sc://x"], 2, "not allowed with argument"),
    ],
)
def test_the_command_line_says_it(options, status, said, capsys, monkeypatch):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert main(["costs", "s3a://logs/2026-11-01", *options]) == status
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
