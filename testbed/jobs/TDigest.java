package testbed.jobs;

import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;

/**
 * Quantiles of what is measured: {@code measurements -> combine -> (HASH) -> merge -> sink}. {@code
 * combine} makes a sketch of each quantity within a site; {@code merge} tells the new quantiles of
 * all sites at each of these.
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code flush-records}, default 20000, and
 * {@code flush-ms}, default 1000, see {@link Combine}.
 */
public final class TDigest {
    private TDigest() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        int flushRecords = job.arguments.integer("flush-records", 20_000);
        long flushMs = job.arguments.whole("flush-ms", 1000);
        DataStream<Measurement> measurements =
                job.source("measurements", new Measurements(), Measurement.class);
        DataStream<Partial> partial =
                job.atSites(
                        "combine",
                        measurements.transform(
                                "combine",
                                TypeInformation.of(Partial.class),
                                new CombineSketches(flushRecords, flushMs)));
        DataStream<Quantiles> quantiles =
                job.keyed("merge", partial.keyBy(each -> each.quantity).process(new Merge()));
        job.run("TDigest", quantiles);
    }

    public static class Measurement {
        public long quantity;
        public long sensor;
        public long timeMs;
        public double value;
    }

    public static class Partial {
        public long quantity;
        public long newestMs;
        public QuantileSketch sketch;
    }

    public static class Quantiles implements Result {
        public long quantity;
        public long count;
        public double median;
        public double p99;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String key() {
            return String.valueOf(quantity);
        }

        @Override
        public String text() {
            return count + " " + median;
        }
    }

    /** Values with a long tail: the exponential of a sum of even ones. */
    static final class Measurements implements Recipe<Measurement> {
        private static final long serialVersionUID = 1L;
        private static final int QUANTITIES = 8;
        private static final int SENSORS = 1000;

        @Override
        public Measurement make(int site, long number, long timeMs) {
            long dice = Mix.of(site, number);
            Measurement measurement = new Measurement();
            measurement.quantity = Mix.below(QUANTITIES, dice);
            measurement.sensor = site * SENSORS + Mix.below(SENSORS, Mix.mix(dice));
            measurement.timeMs = timeMs;
            double sum = 0;
            for (int i = 1; i <= 4; i++) {
                sum += Mix.unit(Mix.mix(dice + i));
            }
            measurement.value = StrictMath.exp(2 * sum);
            return measurement;
        }
    }

    private static final class CombineSketches extends Combine<Measurement, Long, Partial> {
        private static final long serialVersionUID = 1L;

        CombineSketches(int flushRecords, long flushMs) {
            super(flushRecords, flushMs);
        }

        @Override
        protected void fold(Measurement measurement, Map<Long, Partial> partials) {
            Partial partial = partials.get(measurement.quantity);
            if (partial == null) {
                partial = new Partial();
                partial.quantity = measurement.quantity;
                partial.sketch = new QuantileSketch();
                partials.put(measurement.quantity, partial);
            }
            partial.sketch.add(measurement.value);
            partial.newestMs = Math.max(partial.newestMs, measurement.timeMs);
        }

        @Override
        protected StreamRecord<Partial> finished(Partial partial) {
            partial.sketch.settle();
            return super.finished(partial);
        }
    }

    private static final class Merge extends KeyedProcessFunction<Long, Partial, Quantiles> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<QuantileSketch> sketch;

        @Override
        public void open(OpenContext context) {
            sketch =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("sketch", QuantileSketch.class));
        }

        @Override
        public void processElement(Partial partial, Context context, Collector<Quantiles> out)
                throws Exception {
            // A new one each time: Flink may be writing the one before into a checkpoint.
            QuantileSketch merged = new QuantileSketch();
            merged.merge(partial.sketch);
            QuantileSketch former = sketch.value();
            if (former != null) {
                merged.merge(former);
            }
            sketch.update(merged);
            Quantiles quantiles = new Quantiles();
            quantiles.quantity = partial.quantity;
            quantiles.count = merged.count();
            quantiles.median = merged.quantile(0.5);
            quantiles.p99 = merged.quantile(0.99);
            quantiles.newestMs = partial.newestMs;
            out.collect(quantiles);
        }
    }
}
