import logging
import socket
import threading
import time

import pytest

from edgeplace.adapters.flink.errors import FlinkNotFoundError, FlinkUnreachableError
from edgeplace.adapters.flink.rest.client import FlinkClient
from edgeplace.adapters.flink.rest.credentials import Credentials, find_credentials
from edgeplace.model import InvalidInputError
from tests.support.fake_flink import FakeFlink

SECRET = "s3cr3t"
TOKEN = Credentials(f"Bearer {SECRET}", "the test")


@pytest.fixture
def flink():
    with FakeFlink(None) as running:
        yield running


def test_answers_are_decoded(flink):
    with FlinkClient(flink.url + "/") as client:
        assert client.get("/overview") == {"flink-version": "2.3.0"}


def test_credentials_are_sent_and_never_shown(flink, caplog):
    caplog.set_level(logging.DEBUG)
    with FlinkClient(flink.url, TOKEN) as client:
        client.get("/overview")
        assert flink.headers[-1]["Authorization"] == f"Bearer {SECRET}"
        flink.token = "other"
        with pytest.raises(FlinkUnreachableError) as refused:
            client.get("/overview")
    assert "the credentials of the test are not accepted" in str(refused.value)
    assert SECRET not in f"{refused.value!r}{TOKEN!r}{vars(client)!r}{caplog.text}"


def test_no_credentials_are_looked_for_elsewhere(flink, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password mine\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with FlinkClient(flink.url) as client:
        client.get("/overview")
    assert "Authorization" not in flink.headers[-1]


def test_a_proxy_is_not_asked_for_this_machine(flink, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with FlinkClient(flink.url) as client:
        assert client.get("/overview")


def test_flinks_words_are_quoted_without_its_stack(flink):
    with FlinkClient(flink.url) as client, pytest.raises(FlinkNotFoundError) as missing:
        client.get("/jobs/" + "0" * 32)
    assert "NotFoundException: /jobs/000" in str(missing.value)
    assert "x.java" not in str(missing.value)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (302, FlinkUnreachableError, "redirects to"),
        (400, FlinkUnreachableError, "refuses (400): Bad things"),
        (403, FlinkUnreachableError, "access refused (403)"),
        (404, FlinkNotFoundError, "not found: Bad things"),
        (500, FlinkUnreachableError, "refuses (500): Bad things"),
        (503, FlinkUnreachableError, "not ready (503): Bad things"),
    ],
)
def test_refusals_say_what_they_are(flink, status, kind, said):
    flink.answer = lambda path, authorization: (status, {"errors": ["Bad things\n\tat x"]})
    with FlinkClient(flink.url) as client, pytest.raises(kind) as error:
        client.get("/overview")
    assert said in error.value.what


def test_a_moment_without_a_leader_is_waited_out(flink):
    answers = iter([(503, {"errors": ["leader election"]}), (200, {"fine": True})])
    flink.answer = lambda path, authorization: next(answers)
    with FlinkClient(flink.url) as client:
        assert client.get("/overview") == {"fine": True}


def test_what_is_wrong_is_not_asked_again(flink):
    with FlinkClient(flink.url) as client, pytest.raises(FlinkNotFoundError):
        client.get("/jobs/" + "0" * 32)
    assert len(flink.asked) == 1


@pytest.fixture
def served():
    """Serve bytes to each who asks, and then one more as long as somebody listens."""
    ended = threading.Event()

    def serve(head: bytes) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        listening.settimeout(0.05)

        def answer(client: socket.socket) -> None:
            with client:
                client.recv(9999)
                try:
                    client.sendall(head)
                    while not ended.wait(0.02):
                        client.sendall(b" ")
                except OSError:
                    pass

        def accept() -> None:
            with listening:
                while not ended.is_set():
                    try:
                        client, _ = listening.accept()
                    except TimeoutError:
                        continue
                    threading.Thread(target=answer, args=(client,)).start()

        threading.Thread(target=accept).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield serve
    ended.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"]
)
def test_a_server_that_drips_is_left_alone(served, head):
    with (
        FlinkClient(served(head), timeout_s=1.0) as client,
        pytest.raises(FlinkUnreachableError, match="no whole answer within 3 s"),
    ):
        client.get("/overview")


def test_a_server_that_asks_for_an_hour_does_not_get_it(served, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    head = b"HTTP/1.1 503 X\r\nRetry-After: 3600\r\n"
    head += b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    with (
        FlinkClient(served(head)) as client,
        pytest.raises(FlinkUnreachableError, match=r"not ready \(503\)"),
    ):
        client.get("/overview")
    assert max(waits) < 10


def test_an_answer_without_end_is_not_kept(flink, monkeypatch):
    monkeypatch.setattr("edgeplace.adapters.flink.rest.http._LARGEST_BYTES", 10)
    with (
        FlinkClient(flink.url) as client,
        pytest.raises(FlinkUnreachableError, match="larger than 10 bytes"),
    ):
        client.get("/overview")


def test_what_json_cannot_be_read_from(flink):
    for body in (b"[" * 200_000, b"\xff\xfe\xfd", b""):
        flink.answer = lambda path, authorization, body=body: (200, body)
        with (
            FlinkClient(flink.url) as client,
            pytest.raises(FlinkUnreachableError, match="the answer is not JSON"),
        ):
            client.get("/overview")


@pytest.mark.parametrize(
    ("url", "credentials", "said"),
    [
        ("localhost:8081", None, "no address of a REST API"),
        ("ftp://host", None, "no address of a REST API"),
        ("http://", None, "no address of a REST API"),
        ("http://host:port", None, "is no URL"),
        (f"http://me:{SECRET}@host:8081", None, "holds a user or a password"),
        (f"me:{SECRET}@host:8081", None, "holds a user or a password"),
        (f"http//me:{SECRET}@host:8081", None, "holds a user or a password"),
        (f"http://host:8081?token={SECRET}", None, "no address of a REST API"),
        (f"http://host:8081/#{SECRET}", None, "no address of a REST API"),
        ("http://flink.example:8081", TOKEN, "would cross the network in clear"),
        ("http://localhost.example:8081", TOKEN, "would cross the network in clear"),
    ],
)
def test_addresses_that_are_refused(url, credentials, said):
    with pytest.raises(InvalidInputError) as refused:
        FlinkClient(url, credentials)
    assert said in refused.value.what
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("url", ["https://flink.example", "http://127.0.0.9:1", "http://[::1]:1"])
def test_addresses_that_may_see_credentials(url):
    FlinkClient(url, TOKEN)


def test_a_missing_file_of_certificates(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file"):
        FlinkClient("https://host", ca_file=tmp_path / "gone")


# Credentials.

BEARER = {"EDGEPLACE_FLINK_TOKEN": "abc"}
BASIC = {"EDGEPLACE_FLINK_USER": "me", "EDGEPLACE_FLINK_PASSWORD": "pässword"}


def test_credentials_of_the_environment():
    assert find_credentials(None, {}) is None
    assert find_credentials(None, BEARER).authorization == "Bearer abc"
    assert find_credentials(None, BASIC).authorization == "Basic bWU6cMOkc3N3b3Jk"


@pytest.mark.parametrize(
    "environment",
    [
        {"EDGEPLACE_FLINK_USER": "me"},
        {"EDGEPLACE_FLINK_PASSWORD": SECRET},
        {"EDGEPLACE_FLINK_TOKEN": f"{SECRET}\nX-Header: 1"},
        {"EDGEPLACE_FLINK_USER": "m:e", "EDGEPLACE_FLINK_PASSWORD": SECRET},
    ],
)
def test_half_or_odd_credentials_are_refused(environment):
    with pytest.raises(InvalidInputError) as refused:
        find_credentials(None, environment)
    assert SECRET not in str(refused.value)


def private(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_credentials_of_a_file(tmp_path):
    file = private(tmp_path / "c", "token: abc\n")
    assert find_credentials(file, BASIC).authorization == "Bearer abc"
    file = private(tmp_path / "d", "user: me\npassword: 1234\n")
    assert find_credentials(file, {}).authorization == "Basic bWU6MTIzNA=="


@pytest.mark.parametrize("token", ["0123", "1e3", "1.10", "yes", "null", "12:30:45"])
def test_a_secret_is_taken_as_it_is_written(tmp_path, token):
    file = private(tmp_path / "c", f"token: {token}\r\n")
    assert find_credentials(file, {}).authorization == f"Bearer {token}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        SECRET,
        f"token: [{SECRET}]",
        f"user: {SECRET}",
        f"token: {SECRET}\nuser: x",
        f"token: '{SECRET}",
        f"token: !!python/object/apply:os.system [{SECRET}]",
    ],
)
def test_files_that_hold_no_credentials(tmp_path, text):
    with pytest.raises(InvalidInputError) as refused:
        find_credentials(private(tmp_path / "c", text), {})
    assert "token: ..." in refused.value.cure
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_open_is_refused(tmp_path, mode):
    file = private(tmp_path / "c", "token: abc\n")
    file.chmod(mode)
    with pytest.raises(InvalidInputError) as refused:
        find_credentials(file, {})
    assert f"chmod 600 {file}" in refused.value.cure
