package dev.edgeplace.flink;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Measures how long the agent uses the main threads of JobMasters: Flink has to wait meanwhile. */
public final class Turns {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final AtomicLong longestNanos = new AtomicLong();
    private final AtomicLong longestCpuNanos = new AtomicLong();

    Turns() {}

    /** One turn; it begins when it is made. */
    public final class Turn {
        private final long sinceNanos = System.nanoTime();
        private final long sinceCpuNanos = THREADS.getCurrentThreadCpuTime();

        private Turn() {}

        /** Ends the turn; called in the thread that began it. */
        public void end() {
            long cpuNanos = THREADS.getCurrentThreadCpuTime() - sinceCpuNanos;
            longestNanos.accumulateAndGet(System.nanoTime() - sinceNanos, Math::max);
            longestCpuNanos.accumulateAndGet(cpuNanos, Math::max);
        }
    }

    public Turn begin() {
        return new Turn();
    }

    /** Returns the longest turn since the last call: its duration and its processor time. */
    Map<String, Object> longest() {
        Map<String, Object> longest = new TreeMap<>();
        longest.put("longest_turn_ms", ms(longestNanos.getAndSet(0)));
        longest.put("longest_turn_cpu_ms", ms(longestCpuNanos.getAndSet(0)));
        return longest;
    }

    private static double ms(long nanos) {
        return TimeUnit.NANOSECONDS.toMicros(nanos) / 1000.0;
    }
}
