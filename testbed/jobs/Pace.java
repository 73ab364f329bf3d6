package testbed.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Says when the next record of a source subtask is due.
 *
 * <p>At one rate, records are due at even distances from a beginning. Along a {@link Curve}, they are
 * due when the curve has offered them. What a short stall has held up is made good. What was due
 * before a stall of more than a second, or before the rate changed, is given up.
 */
final class Pace {
    private static final String UNLIMITED = "max";
    private static final long LOOK_NANOS = 100_000_000;
    private static final long SHORTEST_WAIT_NANOS = 5_000_000;
    private static final long LONGEST_STALL_NANOS = 1_000_000_000;

    private final Path file;
    private String rate;
    private boolean unlimited;
    private double perSecond;
    private Curve curve;
    private long beginNanos;
    private double taken;
    private long lookNanos;

    /**
     * Starts with a rate, which a file may change.
     *
     * @param rate records per second, or "max"
     * @param file text like {@code rate}, or a curve whose second 0 is the time at which the file
     *     was last written. It is read every 100 ms; while there is none, or it is empty, the rate is
     *     as before; null for no file
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
        if (due > 1 + offered(nowNanos) - offered(nowNanos - LONGEST_STALL_NANOS)) {
            taken = offered(nowNanos);
        } else {
            taken++;
        }
        return true;
    }

    /** How long to wait after {@code take} has said no: a few records may become due meanwhile. */
    long waitNanos(long nowNanos) {
        double now = rateAt(nowNanos);
        double untilDue = now > 0 ? (1 - due(nowNanos)) / now * 1e9 : LOOK_NANOS;
        return (long) Math.max(SHORTEST_WAIT_NANOS, Math.min(LOOK_NANOS, untilDue));
    }

    private double due(long nowNanos) {
        return offered(nowNanos) - taken;
    }

    private double offered(long nowNanos) {
        double seconds = (nowNanos - beginNanos) / 1e9;
        return curve == null ? seconds * perSecond : curve.until(seconds);
    }

    private double rateAt(long nowNanos) {
        return curve == null ? perSecond : curve.rate((nowNanos - beginNanos) / 1e9);
    }

    private void look(long nowNanos) throws IOException {
        String text;
        try {
            text = Files.readString(file).strip();
        } catch (NoSuchFileException none) {
            return;
        }
        if (text.isEmpty() || text.equals(rate)) {
            return;
        }
        if (Curve.isCurve(text)) {
            follow(text, nowNanos);
        } else {
            set(text, nowNanos);
        }
    }

    /** All subtasks follow the same curve from the same time on, also after a restart. */
    private void follow(String text, long nowNanos) throws IOException {
        rate = text;
        unlimited = false;
        curve = Curve.of(text, file.toString());
        long writtenMs = Files.getLastModifiedTime(file).toMillis();
        beginNanos = nowNanos - (System.currentTimeMillis() - writtenMs) * 1_000_000;
        taken = offered(nowNanos);
    }

    private void set(String text, long nowNanos) {
        rate = text;
        curve = null;
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
        beginNanos = nowNanos;
        taken = 0;
    }
}
