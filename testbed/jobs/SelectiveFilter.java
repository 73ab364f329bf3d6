package testbed.jobs;

import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.streaming.api.datastream.DataStream;

/**
 * A filter that keeps a share of the records: {@code readings -> filter -> sink}.
 *
 * <p>Arguments beside those of {@link HeadlineJob}:
 *
 * <ul>
 *   <li>{@code selectivity}: the share kept, default 0.7
 *   <li>{@code record-bytes}: of one record on the wire, default 200
 *   <li>{@code work}: steps of a random number generator that the filter takes for each record, to
 *       keep a processor busy; default 0
 * </ul>
 */
public final class SelectiveFilter {
    static final double SELECTIVITY = 0.7;
    static final int RECORD_BYTES = 200;
    // The rest of a record: numbers and frame. Measured, and checked by a test.
    private static final int BYTES_BESIDE_PAYLOAD = 46;

    private SelectiveFilter() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        double selectivity = job.arguments.decimal("selectivity", SELECTIVITY);
        int recordBytes = job.arguments.integer("record-bytes", RECORD_BYTES);
        if (!(selectivity >= 0 && selectivity <= 1) || recordBytes < BYTES_BESIDE_PAYLOAD) {
            throw new IllegalArgumentException(
                    "selectivity is from 0 to 1 and record-bytes at least "
                            + BYTES_BESIDE_PAYLOAD
                            + (", not " + selectivity + " and " + recordBytes));
        }
        DataStream<Reading> readings =
                job.source("readings", new Readings(recordBytes), Reading.class);
        Keep keep = new Keep(selectivity, job.arguments.integer("work", 0));
        job.run("SelectiveFilter", job.atSites("filter", readings.filter(keep)));
    }

    public static class Reading implements Result {
        public long sensor;
        public long value;
        public long timeMs;
        public byte[] payload;

        @Override
        public long newestMs() {
            return timeMs;
        }

        @Override
        public String text() {
            return sensor + " " + value;
        }
    }

    /** Readings whose values are even over all longs. */
    static final class Readings implements Recipe<Reading> {
        private static final long serialVersionUID = 1L;

        private final byte[] payload;

        Readings(int recordBytes) {
            payload = new byte[recordBytes - BYTES_BESIDE_PAYLOAD];
        }

        @Override
        public Reading make(int site, long number, long timeMs) {
            Reading reading = new Reading();
            reading.sensor = site;
            reading.value = Mix.of(site, number);
            reading.timeMs = timeMs;
            // Nobody changes it, so all may share it.
            reading.payload = payload;
            return reading;
        }
    }

    private static final class Keep implements FilterFunction<Reading> {
        private static final long serialVersionUID = 1L;

        private final double selectivity;
        private final int work;

        Keep(double selectivity, int work) {
            this.selectivity = selectivity;
            this.work = work;
        }

        @Override
        public boolean filter(Reading reading) {
            long spun = reading.value;
            for (int step = 0; step < work; step++) {
                spun = Mix.mix(spun);
            }
            // It is 0 too seldom to matter; a compiler must not leave out what nobody uses.
            return Mix.unit(reading.value) < selectivity && (work == 0 || spun != 0);
        }
    }
}
