package dev.edgeplace.flink.split;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;

/**
 * What the rule of a router costs: nanoseconds of processor time a record, which other work on the
 * machine disturbs least, and bytes of heap after a million keys.
 *
 * <p>Prints {@code workers zipf ns} for each case, then {@code workers bytes} for the heap.
 */
public final class RuleCost {
    private static final int RECORDS = 1 << 20;
    private static final int KEYS = 10_000;
    private static final int ROUNDS = 15;
    private static final int SLIDE = 1 << 16;
    private static final int MANY_KEYS = 1_000_000;
    private static long sink;

    private RuleCost() {}

    public static void main(String[] arguments) {
        for (int workers : new int[] {4, 16, 64}) {
            for (double zipf : new double[] {0.5, 1.0, 1.5, 2.0}) {
                System.out.printf("%d %.1f %.0f%n", workers, zipf, nanos(workers, zipf));
            }
        }
        for (int workers : new int[] {4, 16, 64}) {
            System.out.printf("%d %d%n", workers, bytes(workers));
        }
        if (sink == 42) {
            System.out.println();
        }
    }

    private static double nanos(int workers, double zipf) {
        double[] upTo = new double[KEYS];
        double sum = 0;
        for (int i = 0; i < KEYS; i++) {
            sum += Math.pow(i + 1, -zipf);
            upTo[i] = sum;
        }
        Random random = new Random(1);
        long[] hashes = new long[RECORDS];
        for (int i = 0; i < RECORDS; i++) {
            int found = Arrays.binarySearch(upTo, random.nextDouble() * sum);
            hashes[i] = RouteOperator.mixed(found < 0 ? -found - 1 : found);
        }
        Rule rule = new Rule(workers);
        long best = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long begin = cpuNanos();
            for (int i = 0; i < RECORDS; i++) {
                sink += rule.route(hashes[i]);
                if ((i + 1) % SLIDE == 0) {
                    rule.end();
                }
            }
            best = Math.min(best, cpuNanos() - begin);
        }
        return best / (double) RECORDS;
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static long bytes(int workers) {
        long before = used();
        Rule rule = new Rule(workers);
        for (int i = 0; i < 3 * MANY_KEYS; i++) {
            sink += rule.route(RouteOperator.mixed(i % MANY_KEYS));
            if ((i + 1) % SLIDE == 0) {
                rule.end();
            }
        }
        long after = used();
        sink += rule.workers();
        return after - before;
    }

    private static long used() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
