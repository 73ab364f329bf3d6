package testbed.jobs;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Tells how many records a source subtask has emitted: once a second a line of JSON in {@code
 * source-<site>.jsonl}. Flink's own counters are seconds old when REST shows them, and asking for
 * them is traffic on the WAN.
 */
final class Emissions implements AutoCloseable {
    private static final long LINE_NANOS = 1_000_000_000;

    private final Writer lines;
    private long writtenNanos;

    Emissions(String folder, int site, long nowNanos) throws IOException {
        Path file = Path.of(folder, "source-" + site + ".jsonl");
        lines =
                Files.newBufferedWriter(
                        file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        writtenNanos = nowNanos;
    }

    /** Writes if a second has gone by. */
    void count(long records, long nowNanos) throws IOException {
        if (nowNanos - writtenNanos < LINE_NANOS) {
            return;
        }
        writtenNanos = nowNanos;
        lines.write(
                "{\"ts_ms\": " + System.currentTimeMillis() + ", \"records\": " + records + "}\n");
        lines.flush();
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
