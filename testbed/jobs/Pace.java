package testbed.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Says when the next record of a source subtask is due.
 *
 * <p>Records are due at even distances from a beginning. What a short stall has held up is made
 * good; after a stall of more than a second, and when the rate changes, time begins anew.
 */
final class Pace {
    private static final String UNLIMITED = "max";
    private static final long LOOK_NANOS = 100_000_000;
    private static final long SHORTEST_WAIT_NANOS = 5_000_000;
    private static final double LONGEST_STALL_S = 1;

    private final Path file;
    private String rate;
    private boolean unlimited;
    private double perSecond;
    private long beginNanos;
    private long taken;
    private long lookNanos;

    /**
     * Starts with a rate, which a file may change.
     *
     * @param rate records per second, or "max"
     * @param file text like {@code rate}, read every 100 ms; while there is none, or it is empty,
     *     the rate is as before; null for no file
     */
    Pace(String rate, String file, long nowNanos) {
        this.file = file == null ? null : Path.of(file);
        this.lookNanos = nowNanos;
        set(rate, nowNanos);
    }

    /** Whether a record is due now; if so, the caller emits it. */
    boolean take(long nowNanos) throws IOException {
        if (file != null && nowNanos - lookNanos >= 0) {
            lookNanos = nowNanos + LOOK_NANOS;
            look(nowNanos);
        }
        if (unlimited) {
            return true;
        }
        double due = due(nowNanos);
        if (due < 1) {
            return false;
        }
        if (due > 1 + LONGEST_STALL_S * perSecond) {
            begin(nowNanos);
        } else {
            taken++;
        }
        return true;
    }

    /** How long to wait after {@code take} has said no: a few records may become due meanwhile. */
    long waitNanos(long nowNanos) {
        double untilDue = perSecond > 0 ? (1 - due(nowNanos)) / perSecond * 1e9 : LOOK_NANOS;
        return (long) Math.max(SHORTEST_WAIT_NANOS, Math.min(LOOK_NANOS, untilDue));
    }

    private double due(long nowNanos) {
        return (nowNanos - beginNanos) / 1e9 * perSecond - taken;
    }

    private void look(long nowNanos) throws IOException {
        String text;
        try {
            text = Files.readString(file).strip();
        } catch (NoSuchFileException none) {
            return;
        }
        if (!text.isEmpty() && !text.equals(rate)) {
            set(text, nowNanos);
        }
    }

    private void set(String text, long nowNanos) {
        rate = text;
        unlimited = text.equals(UNLIMITED);
        try {
            perSecond = unlimited ? 0 : Double.parseDouble(text);
        } catch (NumberFormatException error) {
            perSecond = Double.NaN;
        }
        if (!(perSecond >= 0 && perSecond < Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException(
                    "a rate is a number of records per second or max, not \"" + text + "\""
                            + (file == null ? "" : ", see " + file));
        }
        begin(nowNanos);
    }

    private void begin(long nowNanos) {
        beginNanos = nowNanos;
        taken = 0;
    }
}
