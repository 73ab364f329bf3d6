package dev.edgeplace.flink.split;

import java.io.Serializable;
import java.util.Collection;

import org.apache.flink.streaming.api.windowing.assigners.MergingWindowAssigner;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/**
 * The panes of windows: the longest spans of event time whose records are all in the same windows.
 *
 * <p>Windows begin at {@code phase + n slide} and end {@code size} later. These times are the
 * borders of panes (Li et al., "No pane, no gain", SIGMOD Record 2005).
 */
final class Panes implements Serializable {
    /** One pane for ever, without windows. */
    static final Panes ONE = new Panes(0, 0, 0);

    private static final long serialVersionUID = 1L;

    private final long size;
    private final long slide;
    private final long phase;

    private Panes(long size, long slide, long phase) {
        this.size = size;
        this.slide = slide;
        this.phase = phase;
    }

    /** Returns the panes of windows, or refuses windows that have none. */
    static Panes of(WindowAssigner<?, TimeWindow> assigner) {
        if (assigner instanceof MergingWindowAssigner) {
            throw new IllegalArgumentException(
                    "session windows cannot be split: where a session ends depends on the records of"
                            + " all sites. Leave it whole: keyBy(...).window(...).aggregate(...)");
        }
        boolean slides = assigner instanceof SlidingEventTimeWindows;
        if (!slides && !(assigner instanceof TumblingEventTimeWindows)) {
            throw new IllegalArgumentException(
                    assigner.getClass().getSimpleName()
                            + " cannot be split: a partial does not say to which of its windows the"
                            + " records belong. There are TumblingEventTimeWindows and"
                            + " SlidingEventTimeWindows");
        }
        // With gaps between windows, time 0 may be in none.
        long step = slides ? ((SlidingEventTimeWindows) assigner).getSize() : 1;
        TimeWindow any = first(assigner, step);
        long size = any.getEnd() - any.getStart();
        long slide = slides ? ((SlidingEventTimeWindows) assigner).getSlide() : size;
        return new Panes(size, slide, Math.floorMod(any.getStart(), slide));
    }

    private static <T> TimeWindow first(WindowAssigner<T, TimeWindow> assigner, long step) {
        for (long time = 0; ; time += step) {
            Collection<TimeWindow> windows = assigner.assignWindows(null, time, new AtZero());
            if (!windows.isEmpty()) {
                return windows.iterator().next();
            }
        }
    }

    /** Whether a pane can belong to several windows. */
    boolean areShared() {
        return slide < size;
    }

    boolean areTimed() {
        return slide > 0;
    }

    /** Returns the last border at or before a time. */
    long start(long time) {
        return Math.max(floor(time, phase), floor(time, phase + size));
    }

    /** Returns the first border behind a time. */
    long end(long time) {
        return Math.min(floor(time, phase), floor(time, phase + size)) + slide;
    }

    private long floor(long time, long from) {
        return time - Math.floorMod(time - from, slide);
    }

    private static final class AtZero extends WindowAssigner.WindowAssignerContext {
        @Override
        public long getCurrentProcessingTime() {
            return 0;
        }
    }
}
