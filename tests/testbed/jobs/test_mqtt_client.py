"""The MQTT client of the jobs against brokers that send the packets of the standard, and others."""

import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

job_jar = pytest.importorskip(
    "testbed.flink.job_jar", reason="the testbed is not in the wheel, and not beside these tests"
)

DRIVER = """
package testbed.jobs;

import java.nio.charset.StandardCharsets;
import java.util.List;

class DriveMqtt {
    public static void main(String[] args) throws Exception {
        for (String each : args) {
            String[] parts = each.split("/");
            if (parts.length > 2) {
                openSession(parts);
                continue;
            }
            try (MqttClient client =
                    new MqttClient("127.0.0.1:" + parts[0], "job-0", Integer.parseInt(parts[1]))) {
                client.subscribe("readings/#");
                for (int left = 2; left > 0; ) {
                    MqttClient.Packet packet = client.receive();
                    if (packet != null) {
                        left--;
                        System.out.print(packet.id + " " + packet.again + " " + packet.topic + " "
                                + new String(packet.payload, StandardCharsets.UTF_8) + "; ");
                    }
                }
                client.acknowledge(List.of(7L, 300L));
                int id = client.publish("readings/a", new byte[200]);
                MqttClient.Packet answer;
                do {
                    answer = client.receive();
                } while (answer == null);
                System.out.println(answer.isTaken() && answer.id == id);
            } catch (java.io.IOException error) {
                System.out.println(error.getMessage().replaceFirst("127.0.0.1:\\\\d+", "broker"));
            }
        }
    }

    private static void openSession(String[] parts) {
        int keepAliveS = Integer.parseInt(parts[1]);
        try (MqttSession session =
                new MqttSession(
                        "127.0.0.1:" + parts[0],
                        "job-0",
                        "readings/#",
                        keepAliveS,
                        Long.parseLong(parts[2]))) {
            System.out.println("subscribed");
        } catch (java.io.IOException | IllegalArgumentException error) {
            System.out.println(error.getMessage().replaceFirst("127.0.0.1:\\\\d+", "broker"));
        }
    }
}
"""
# Fixed header, then fields, as in the OASIS standard of 29 October 2014; sections in brackets.
CONNECT = b"\x10\x11\x00\x04MQTT\x04\x00\x00\x1e\x00\x05job-0"  # [3.1], clean session 0, 30 s
CONNACK = b"\x20\x02\x01\x00"  # [3.2], the session was there
SUBSCRIBE = b"\x82\x0f\x00\x01\x00\x0areadings/#\x01"  # [3.8]
SUBACK = b"\x90\x03\x00\x01\x01"  # [3.9]
LONG = b"x" * 20_000
MESSAGE = b"\x32\x13\x00\x0areadings/b\x00\x07hello"  # [3.3], QoS 1, id 7
AGAIN = b"\x3a\xae\x9c\x01\x00\x0areadings/b\x01\x2c" + LONG  # DUP, id 300; 20,014 is ae 9c 01
PUBACKS = b"\x40\x02\x00\x07\x40\x02\x01\x2c"  # [3.4]
PUBLISH = b"\x32\xd6\x01\x00\x0areadings/a\x00\x02" + bytes(200)  # 214 is d6 01
DISCONNECT = b"\xe0\x00"  # [3.14]

Step = tuple[str, bytes]
WELL: list[Step] = [
    *[("read", CONNECT), ("send", CONNACK), ("read", SUBSCRIBE), ("send", SUBACK + MESSAGE)],
    *[("send", AGAIN), ("read", PUBACKS), ("read", PUBLISH), ("send", b"\x40\x02\x00\x02")],
    ("read", DISCONNECT),
]
CONNECTED: list[Step] = [("read", CONNECT), ("send", CONNACK), ("read", SUBSCRIBE)]
CASES: list[tuple[list[Step], str]] = [
    (WELL, f"7 false readings/b hello; 300 true readings/b {LONG.decode()}; true"),
    ([("read", CONNECT), ("send", b"\x20\x02\x00\x05")], "broker refuses job-0 with code 5"),
    (
        [("read", CONNECT), ("send", b"HTTP/1.1 400")],
        "broker does not speak MQTT 3.1.1",
    ),
    ([*CONNECTED, ("send", b"\x90\x03\x00\x01\x80")], "broker does not grant QoS 1"),
    ([*CONNECTED, ("send", MESSAGE[:9])], "broker has closed the connection"),
    (
        [*CONNECTED, ("send", b"\x34" + MESSAGE[1:])],
        "broker sends a message with another QoS than 1",
    ),
    (
        [*CONNECTED, ("send", b"\x32\xff\xff\xff\xff\x01")],
        "broker sends a length of more than four bytes",
    ),
    ([*CONNECTED, ("send", b"\xf0\x00")], "broker sends a packet of kind 15"),
]
NO_SESSION = b"\x20\x02\x00\x00"
LOST = "broker has lost session job-0, and the messages that waited in it: save its sessions"
# Its answer, the seconds of keep alive, the first id that was not seen -> what is said.
SESSIONS: list[tuple[bytes, int, int, str]] = [
    (CONNACK, 30, 8, "subscribed"),
    (NO_SESSION, 30, 0, "subscribed"),
    (NO_SESSION, 30, 8, LOST),
    (CONNACK, 0, 0, "subscribed"),
    (CONNACK, 65_535, 0, "subscribed"),
]
SILENT: list[Step] = [
    *[("read", CONNECT.replace(b"\x00\x1e", b"\x00\x01")), ("send", CONNACK)],
    *[("read", SUBSCRIBE), ("send", SUBACK), ("read", b"\xc0\x00")],  # PINGREQ [3.12]
]


class Broker(threading.Thread):
    """Plays its part to one client, and notes where the client did not."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__(daemon=True)
        self.steps = steps
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.other: list[bytes] = []
        self.start()

    def run(self) -> None:
        client, _ = self.server.accept()
        client.settimeout(60)
        with client:
            for what, data in self.steps:
                if what == "send":
                    client.sendall(data)
                    continue
                came = b""
                while len(came) < len(data) and (more := client.recv(len(data) - len(came))):
                    came += more
                if came != data:
                    self.other.append(came)
            if self.steps is SILENT:
                # Open until the client gives up.
                while client.recv(100):
                    pass
        self.server.close()


@pytest.mark.slow
def test_packets_are_those_of_the_standard_and_others_are_refused(tmp_path: Path) -> None:
    for tool in ("javac", "java"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: the jobs' tests need a JDK (11 or later)")
    source = tmp_path / "DriveMqtt.java"
    source.write_text(DRIVER)
    own = [str(job_jar.JOBS / f"{name}.java") for name in ("Feed", "MqttClient", "MqttSession")]
    files = [str(source), *own]
    compiling = ["javac", "--release", "11", "-d", str(tmp_path), *files]
    subprocess.run(compiling, check=True)
    brokers = [Broker(steps) for steps, _ in CASES]
    silent = Broker(SILENT)
    sessions = [
        Broker(
            [
                ("read", CONNECT.replace(b"\x00\x1e", keep_alive.to_bytes(2, "big"))),
                *[("send", answer), ("read", SUBSCRIBE), ("read", DISCONNECT)],
            ]
        )
        for answer, keep_alive, _, _ in SESSIONS
    ]

    driving = ["java", "-XX:TieredStopAtLevel=1", "-cp", str(tmp_path), "testbed.jobs.DriveMqtt"]
    addresses = [*(f"{broker.port}/30" for broker in brokers), f"{silent.port}/1"]
    addresses += [
        f"{broker.port}/{keep_alive}/{first}"
        for broker, (_, keep_alive, first, _) in zip(sessions, SESSIONS, strict=True)
    ]
    addresses.append("1/65536/0")
    ran = subprocess.run([*driving, *addresses], capture_output=True, text=True, timeout=120)

    assert ran.stderr == ""
    said = ran.stdout.splitlines()
    assert said == [
        *(says for _, says in CASES),
        "broker does not answer",
        *(says for *_, says in SESSIONS),
        "keep alive is 0 to 65535 s, not 65536",
    ]
    for broker in (*brokers, *sessions, silent):
        broker.join(60)
        assert broker.other == []
