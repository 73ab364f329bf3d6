package testbed.jobs;

import dev.edgeplace.flink.split.SplitAggregate;
import java.time.Duration;
import java.util.Arrays;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/**
 * Count, sum and largest value of each sensor in a window, of sources at several Pis of a site:
 *
 * <pre>
 * raw     readings = whole - sink
 * edge    readings - combine = merge - sink          (combine in the task of the source)
 * spread  readings - route ~ combine = merge - sink  (~: by weights)
 * </pre>
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code mode}; {@code keys} and {@code zipf}: the
 * n-th sensor has 1/n^zipf as many readings as the first; {@code record-bytes} of a reading on the
 * wire, default 200; {@code window-ms}, default 1000; {@code work}: steps of a random number
 * generator that the aggregate takes for each reading, to keep a processor busy; {@code workers}:
 * subtasks of combine where it is spread, default 4.
 */
public final class SplitReadings {
    private static final int BYTES_BESIDE_PAYLOAD = 42;

    private SplitReadings() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        String mode = job.arguments.text("mode");
        Readings recipe =
                new Readings(
                        job.arguments.integer("keys", 1000),
                        job.arguments.decimal("zipf", 1.0),
                        job.arguments.integer("record-bytes", 200));
        TumblingEventTimeWindows windows =
                TumblingEventTimeWindows.of(
                        Duration.ofMillis(job.arguments.whole("window-ms", 1000)));
        Summarise summarise = new Summarise(job.arguments.integer("work", 0));
        int workers = job.arguments.integer("workers", 4);
        DataStream<Reading> readings = job.source("readings", recipe, Reading.class);
        SplitAggregate<Reading, Integer> split =
                SplitAggregate.of(readings, (Reading reading) -> reading.sensor);
        SingleOutputStreamOperator<Summary> summaries;
        switch (mode) {
            case "raw":
                summaries =
                        job.keyed(
                                "whole",
                                readings.keyBy(reading -> reading.sensor)
                                        .window(windows)
                                        .aggregate(summarise));
                break;
            case "edge":
                summaries = split.window(windows).aggregate(summarise);
                break;
            case "spread":
                summaries = split.spread(workers).window(windows).aggregate(summarise);
                break;
            default:
                throw new IllegalArgumentException("mode is raw, edge or spread, not " + mode);
        }
        job.run("SplitReadings", summaries);
    }

    public static class Reading {
        public int sensor;
        public long value;
        public long timeMs;
        public byte[] payload;
    }

    public static class Summary implements Result {
        public int sensor;
        public long count;
        public long sum;
        public long largest;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return sensor + " " + count + " " + sum + " " + largest;
        }
    }

    /** Readings of skewed sensors. */
    static final class Readings implements Recipe<Reading> {
        private static final long serialVersionUID = 1L;

        private final double[] upTo;
        private final byte[] payload;

        Readings(int keys, double zipf, int recordBytes) {
            upTo = new double[keys];
            double sum = 0;
            for (int i = 0; i < keys; i++) {
                sum += Math.pow(i + 1, -zipf);
                upTo[i] = sum;
            }
            for (int i = 0; i < keys; i++) {
                upTo[i] /= sum;
            }
            payload = new byte[recordBytes - BYTES_BESIDE_PAYLOAD];
        }

        @Override
        public Reading make(int site, long number, long timeMs) {
            long dice = Mix.of(site, number);
            int found = Arrays.binarySearch(upTo, Mix.unit(dice));
            Reading reading = new Reading();
            reading.sensor = Math.min(found < 0 ? -found - 1 : found, upTo.length - 1);
            reading.value = Mix.mix(dice) >>> 40;
            reading.timeMs = timeMs;
            // Nobody changes it, so all may share it.
            reading.payload = payload;
            return reading;
        }
    }

    private static final class Summarise implements AggregateFunction<Reading, Summary, Summary> {
        private static final long serialVersionUID = 1L;

        private final int work;

        Summarise(int work) {
            this.work = work;
        }

        @Override
        public Summary createAccumulator() {
            return new Summary();
        }

        @Override
        public Summary add(Reading reading, Summary summary) {
            long spun = reading.value;
            for (int step = 0; step < work; step++) {
                spun = Mix.mix(spun);
            }
            summary.sensor = reading.sensor;
            // It is 0 too seldom to matter; a compiler must not leave out what nobody uses.
            summary.count += work == 0 || spun != 0 ? 1 : 0;
            summary.sum += reading.value;
            summary.largest = Math.max(summary.largest, reading.value);
            summary.newestMs = Math.max(summary.newestMs, reading.timeMs);
            return summary;
        }

        @Override
        public Summary getResult(Summary summary) {
            return summary;
        }

        @Override
        public Summary merge(Summary a, Summary b) {
            if (a.count == 0) {
                return b;
            }
            a.count += b.count;
            a.sum += b.sum;
            a.largest = Math.max(a.largest, b.largest);
            a.newestMs = Math.max(a.newestMs, b.newestMs);
            return a;
        }
    }
}
