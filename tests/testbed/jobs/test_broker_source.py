"""A source of brokers whose connection fails, also by an error that is no exception of Java's."""

import shutil
import subprocess
from pathlib import Path

import pytest

REASON = "the testbed is not in the wheel, and not beside these tests"
errors = pytest.importorskip("testbed.errors", reason=REASON)
flink_home = pytest.importorskip("testbed.flink.home", reason=REASON)
job_jar = pytest.importorskip("testbed.flink.job_jar", reason=REASON)

DRIVER = """
package testbed.jobs;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;

class DriveBroker {
    private static final class Failing implements Feed {
        private final Throwable error;
        private boolean given;

        Failing(Throwable error) {
            this.error = error;
        }

        @Override
        public Message receive() throws Exception {
            if (!given) {
                given = true;
                return new Message(7, "seven");
            }
            fail(error);
            return null;
        }

        @Override
        public void close() {}
    }

    public static void main(String[] args) throws Exception {
        for (Throwable error :
                List.of(
                        new IOException("closed"),
                        new NoClassDefFoundError("a/client"),
                        new StackOverflowError("deep"))) {
            drive((subtask, from) -> {
                fail(error);
                return null;
            });
            drive((subtask, from) -> new Failing(error));
        }
    }

    private static void drive(BrokerSource.Connection connection) throws Exception {
        StringBuilder said = new StringBuilder();
        ReaderOutput<String> output = of(ReaderOutput.class, said);
        try (SourceReader<String, NumberSequenceSplit> reader =
                new BrokerSource(connection).createReader(of(SourceReaderContext.class, said))) {
            reader.addSplits(List.of(new NumberSequenceSplit("3", 7, 1000)));
            while (true) {
                reader.pollNext(output);
                // If nobody says that there is something to poll, this ends with a timeout.
                reader.isAvailable().get(60, TimeUnit.SECONDS);
            }
        } catch (IOException failure) {
            System.out.println(said + failure.getMessage() + ": " + failure.getCause());
        }
    }

    private static <T> T of(Class<T> kind, StringBuilder said) {
        return kind.cast(
                Proxy.newProxyInstance(
                        kind.getClassLoader(),
                        new Class<?>[] {kind},
                        (self, method, given) -> {
                            said.append(given[0]).append("; ");
                            return null;
                        }));
    }

    private static <E extends Throwable> void fail(Throwable error) throws E {
        @SuppressWarnings("unchecked")
        E any = (E) error;
        throw any;
    }
}
"""


@pytest.mark.slow
def test_whatever_ends_the_connection_fails_the_task(tmp_path: Path) -> None:
    for tool in ("javac", "java"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: the jobs' tests need a JDK (11 or later)")
    try:
        home = flink_home.flink_home()
    except errors.TestbedError as error:
        pytest.skip(f"no Flink in the cache, and {error}")
    source = tmp_path / "DriveBroker.java"
    source.write_text(DRIVER)
    own = [str(job_jar.JOBS / f"{name}.java") for name in ("BrokerSource", "Feed", "OneRangeEach")]
    classes = f"{home}/lib/*"
    compiling = ["javac", "--release", "11", "-nowarn", "-cp", classes, "-d", str(tmp_path)]
    subprocess.run([*compiling, str(source), *own], check=True, capture_output=True)

    driving = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{tmp_path}:{classes}"]
    ran = subprocess.run(
        [*driving, "testbed.jobs.DriveBroker"], capture_output=True, text=True, timeout=120
    )

    causes = (
        "java.io.IOException: closed",
        "java.lang.NoClassDefFoundError: a/client",
        "java.lang.StackOverflowError: deep",
    )
    said = [f"subtask 3 reads no more: {cause}" for cause in causes]
    assert ran.stdout.splitlines() == [line for each in said for line in (each, f"seven; {each}")]
    assert ran.returncode == 0, ran.stderr
