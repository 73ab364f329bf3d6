package dev.edgeplace.flink.split;

import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether combining is worth it: where nearly every record has a key of its own, records pass
 * through, each as a partial, and a sample is combined now and then.
 */
final class Worth {
    private static final Logger LOG = LoggerFactory.getLogger(Worth.class);
    /** A sample of records, and how many pass through between two. */
    private static final int SAMPLE = 10_000;
    private static final int PASSING = 50 * SAMPLE;
    /** Partials per record from which combining is not worth its hash map. */
    private static final double MOST_PARTIALS = 0.8;

    private long records;
    private long partials;
    private int passing;
    private boolean passes;

    Worth(MetricGroup metrics) {
        metrics.gauge("combining", (Gauge<Integer>) () -> passes ? 0 : 1);
    }

    /** Tells for the next record whether it is combined. */
    boolean combines() {
        if (passing == 0) {
            return true;
        }
        passing--;
        return false;
    }

    void added() {
        records++;
    }

    void sent(int count) {
        partials += count;
        if (records < SAMPLE) {
            return;
        }
        boolean passesNow = partials > MOST_PARTIALS * records;
        if (passesNow != passes) {
            LOG.info(
                    "{} partials of {} records: {}",
                    partials,
                    records,
                    passesNow ? "records pass through, combining would not pay" : "combining");
        }
        passes = passesNow;
        passing = passes ? PASSING : 0;
        records = 0;
        partials = 0;
    }
}
