package testbed.jobs;

import java.util.Map;
import java.util.TreeMap;

/** Counts latencies in buckets, each 5 % wider than the one before, so that counts can be added. */
final class Latencies {
    private static final double STEP = Math.log(1.05);

    private final Map<Integer, Long> buckets = new TreeMap<>();
    private long count;
    private long sumMs;

    void add(long latencyMs) {
        int bucket = latencyMs <= 1 ? 0 : (int) Math.ceil(Math.log(latencyMs) / STEP - 1e-9);
        buckets.merge(bucket, 1L, Long::sum);
        count++;
        sumMs += latencyMs;
    }

    /** Returns one line of JSON about what was added since the line before. */
    String line(long nowMs) {
        StringBuilder line = new StringBuilder();
        line.append("{\"ts_ms\": ").append(nowMs);
        line.append(", \"count\": ").append(count);
        line.append(", \"sum_ms\": ").append(sumMs);
        line.append(", \"buckets\": {");
        String separator = "";
        for (Map.Entry<Integer, Long> bucket : buckets.entrySet()) {
            double upperMs = Math.rint(Math.exp(bucket.getKey() * STEP) * 1000) / 1000;
            line.append(separator).append('"').append(upperMs).append("\": ");
            line.append(bucket.getValue());
            separator = ", ";
        }
        buckets.clear();
        count = 0;
        sumMs = 0;
        return line.append("}}\n").toString();
    }
}
