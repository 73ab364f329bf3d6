"""The ZooKeeper server that is inside Flink, for the JobManager's high availability."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from testbed.flink.flink_jvm import java
from testbed.process import launch

_HOST = "127.0.0.1"
_MAIN = "org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.server.ZooKeeperServerMain"
_TICK_MS = 500
# The leadership of a killed JobManager ends only with its session; two to twenty ticks. A busy
# machine must not end it: it may give a JVM nothing for seconds.
_SESSION_MS = 6_000


def start_zookeeper(
    home: Path, folder: Path, port: int, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a server of one, on the loopback address.

    Parameters
    ----------
    home
        Flink home.
    folder
        Gets its configuration, log and data; made here.
    port
        Its port for clients.
    environment
        Of the process.
    """
    folder.mkdir()
    config = {
        "tickTime": _TICK_MS,
        "dataDir": folder / "data",
        "clientPort": port,
        "clientPortAddress": _HOST,
        # It would listen on every address of the machine.
        "admin.enableServer": "false",
    }
    file = folder / "zoo.cfg"
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    command = [java(environment), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    # Nobody reads its data after a loss of power, and a slow disk would end its clients' sessions.
    command += ["-Dzookeeper.forceSync=no"]
    command += ["-cp", f"{home}/lib/*", _MAIN, str(file)]
    return launch(command, folder / "console.log", environment)


def high_availability(storage: Path, port: int, rpc_port: int) -> dict[str, str]:
    """Return Flink's options for the server at a port.

    Parameters
    ----------
    storage
        Folder for what is too large for ZooKeeper: job graphs and checkpoints' metadata.
    port
        Of the server.
    rpc_port
        The JobManager's, the same after a restart.
    """
    return {
        "high-availability.type": "zookeeper",
        "high-availability.storageDir": storage.as_uri(),
        "high-availability.zookeeper.quorum": f"{_HOST}:{port}",
        "high-availability.jobmanager.port": str(rpc_port),
        "high-availability.zookeeper.client.session-timeout": str(_SESSION_MS),
        # Otherwise leadership ends with each answer that comes late, and all jobs start again.
        "high-availability.zookeeper.client.tolerate-suspended-connections": "true",
    }
