package testbed.jobs;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** The event time of records: when they are made, or a function of their number. */
final class Clock implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final double WALL = 0;

    private final double perSecond;
    private final Curve curve;
    private long latestMs = Long.MIN_VALUE;

    private Clock(double perSecond, Curve curve) {
        this.perSecond = perSecond;
        this.curve = curve;
    }

    /**
     * Reads {@code clock=wall|synthetic}, {@code synthetic-per-second}, default 1000, and in its place
     * {@code synthetic-curve}: a file with a {@link Curve}.
     */
    static Clock of(Arguments arguments) {
        String kind = arguments.text("clock", "wall");
        double perSecond = arguments.decimal("synthetic-per-second", 1000);
        String curve = arguments.text("synthetic-curve", null);
        if (kind.equals("wall")) {
            return new Clock(WALL, null);
        }
        if (!kind.equals("synthetic") || !(perSecond > 0)) {
            throw new IllegalArgumentException(
                    "clock is wall or synthetic, the latter with synthetic-per-second above 0; not "
                            + kind + " with " + perSecond);
        }
        try {
            return new Clock(perSecond, curve == null ? null : Curve.read(Path.of(curve)));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    boolean isSynthetic() {
        return perSecond != WALL;
    }

    /** The event time of a subtask's record, never before that of the record before. */
    long timeMs(long number) {
        if (curve != null) {
            double seconds = curve.secondsUntil(number);
            if (Double.isInfinite(seconds)) {
                throw new IllegalStateException(
                        "the curve ends at rate 0 before it has offered " + number + " records");
            }
            // A whole millisecond shall not become the one before it by rounding.
            return (long) (seconds * 1000 + 1e-6);
        }
        if (isSynthetic()) {
            return (long) (number * 1000 / perSecond);
        }
        // The system's clock may be set back; watermarks promise that event time is not.
        latestMs = Math.max(latestMs, System.currentTimeMillis());
        return latestMs;
    }
}
