package testbed.jobs;

import java.io.Serializable;

/** The event time of records: when they are made, or a function of their number. */
final class Clock implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final double WALL = 0;

    private final double perSecond;
    private long latestMs = Long.MIN_VALUE;

    private Clock(double perSecond) {
        this.perSecond = perSecond;
    }

    /** Reads {@code clock=wall|synthetic} and {@code synthetic-per-second}, default 1000. */
    static Clock of(Arguments arguments) {
        String kind = arguments.text("clock", "wall");
        double perSecond = arguments.decimal("synthetic-per-second", 1000);
        if (kind.equals("wall")) {
            return new Clock(WALL);
        }
        if (!kind.equals("synthetic") || !(perSecond > 0)) {
            throw new IllegalArgumentException(
                    "clock is wall or synthetic, the latter with synthetic-per-second above 0; not "
                            + kind + " with " + perSecond);
        }
        return new Clock(perSecond);
    }

    boolean isSynthetic() {
        return perSecond != WALL;
    }

    /** The event time of a subtask's record, never before that of the record before. */
    long timeMs(long number) {
        if (isSynthetic()) {
            return (long) (number * 1000 / perSecond);
        }
        // The system's clock may be set back; watermarks promise that event time is not.
        latestMs = Math.max(latestMs, System.currentTimeMillis());
        return latestMs;
    }
}
