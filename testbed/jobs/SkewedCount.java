package testbed.jobs;

import dev.edgeplace.flink.split.SplitAggregate;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Counts skewed keys in windows of a second, by workers that take so many records a second and no
 * more: they sleep, so that two cores can bear many of them.
 *
 * <p>Arguments, each {@code key=value}: {@code mode}: {@code hash} for stock Flink's {@code keyBy},
 * or {@code split}; {@code keys} and {@code zipf}: the n-th key is 1/n^zipf as frequent as the first;
 * {@code rates}: records per second of each worker, with commas; {@code drift-ms}: after how long
 * other keys are frequent, 0 for never; {@code per-second} of each of two sources, or {@code max};
 * {@code out}: existing folder. Twice a second, each worker writes {@code worker-I} there: the
 * time in ms and the records that it took. {@code windows-I} gets a line for each window: how many
 * ms after its end its last result was sent, its keys, and the partials that were merged for it.
 */
public final class SkewedCount {
    private static final int SOURCES = 2;

    private SkewedCount() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        double[] rates =
                Arrays.stream(arguments.text("rates").split(","))
                        .mapToDouble(Double::parseDouble)
                        .toArray();
        String mode = arguments.text("mode");
        String out = arguments.text("out");
        Keys keys =
                new Keys(
                        arguments.integer("keys", 10_000),
                        arguments.decimal("zipf", 1.5),
                        arguments.whole("drift-ms", 0));
        String perSecond = arguments.text("per-second", "max");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.enableCheckpointing(5000);
        PacedNumbers source =
                new PacedNumbers(
                        Long.MAX_VALUE / 2,
                        perSecond.equals("max") ? 1e9 : Double.parseDouble(perSecond),
                        out + "/finish");
        DataStream<Long> stream =
                env.fromSource(
                                source,
                                WatermarkStrategy.<Long>forMonotonousTimestamps()
                                        .withTimestampAssigner((n, t) -> System.currentTimeMillis()),
                                "numbers")
                        .setParallelism(SOURCES)
                        .map(keys)
                        .returns(Types.LONG)
                        .setParallelism(SOURCES);
        TumblingEventTimeWindows windows = TumblingEventTimeWindows.of(Duration.ofSeconds(1));
        PacedCount count = new PacedCount(rates, out);
        PerWindow windowed = new PerWindow(out);
        SingleOutputStreamOperator<Long> counted =
                mode.equals("hash")
                        ? stream.keyBy(key -> key)
                                .window(windows)
                                .aggregate(count, windowed)
                                .setParallelism(rates.length)
                                .name("whole")
                        : SplitAggregate.of(stream, key -> key)
                                .spread(rates.length)
                                .window(windows)
                                .aggregate(count, windowed)
                                .setParallelism(1);
        counted.sinkTo(new DiscardingSink<>()).setParallelism(1);
        arguments.refuseOthers();
        env.execute("skew");
    }

    private static final class Keys implements MapFunction<Long, Long> {
        private static final long serialVersionUID = 1L;

        private final double[] upTo;
        private final long driftMs;

        Keys(int keys, double zipf, long driftMs) {
            upTo = new double[keys];
            this.driftMs = driftMs;
            double sum = 0;
            for (int i = 0; i < keys; i++) {
                sum += Math.pow(i + 1, -zipf);
                upTo[i] = sum;
            }
            for (int i = 0; i < keys; i++) {
                upTo[i] /= sum;
            }
        }

        @Override
        public Long map(Long number) {
            int found = Arrays.binarySearch(upTo, Mix.unit(Mix.mix(number)));
            long era = driftMs == 0 ? 0 : System.currentTimeMillis() / driftMs;
            return Mix.mix(1_000_003L * (found < 0 ? -found - 1 : found) + era) >>> 1;
        }
    }

    /**
     * Counts records, no faster than the worker in whose thread it runs, and in the upper bits the
     * partials.
     */
    private static final class PacedCount implements AggregateFunction<Long, Long, Long> {
        private static final long serialVersionUID = 1L;
        private static final Pattern SUBTASK = Pattern.compile("\\((\\d+)/\\d+\\)");
        private static final int BATCH = 50;
        private static final long A_PARTIAL = 1L << 40;
        private static final long LONGEST_STALL_NANOS = 200_000_000;
        private static final long WRITE_NANOS = 500_000_000;

        private final double[] rates;
        private final String out;
        private transient String file;
        private transient double rate;
        private transient long beginNanos;
        private transient long writeNanos;
        private transient long sinceBegin;
        private transient long records;

        PacedCount(double[] rates, String out) {
            this.rates = rates;
            this.out = out;
        }

        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Long key, Long count) {
            records++;
            if (++sinceBegin % BATCH == 0) {
                pace();
            }
            return count + 1;
        }

        /** The partials. */
        @Override
        public Long getResult(Long count) {
            return count / A_PARTIAL;
        }

        @Override
        public Long merge(Long a, Long b) {
            return a + b + A_PARTIAL;
        }

        private void pace() {
            long now = System.nanoTime();
            if (write(now)) {
                int worker = Integer.parseInt(file.substring(file.lastIndexOf('-') + 1));
                rate = rates[worker - 1];
            }
            long due = beginNanos + (long) (sinceBegin / rate * 1e9);
            if (due > now) {
                try {
                    Thread.sleep((due - now) / 1_000_000, (int) ((due - now) % 1_000_000));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            } else if (now - due > LONGEST_STALL_NANOS) {
                beginNanos = now;
                sinceBegin = 0;
            }
        }

        /** Returns whether this was the first call in the worker's own thread. */
        private boolean write(long now) {
            boolean isFirst = file == null;
            if (isFirst) {
                String task = Thread.currentThread().getName();
                Matcher subtask = SUBTASK.matcher(task);
                if (!subtask.find()) {
                    throw new IllegalStateException("no subtask in the thread's name: " + task);
                }
                file = out + "/worker-" + subtask.group(1);
                beginNanos = now;
                writeNanos = now;
            }
            if (now - writeNanos >= 0) {
                writeNanos = now + WRITE_NANOS;
                append(file, System.currentTimeMillis() + " " + records);
            }
            return isFirst;
        }
    }

    private static final class PerWindow
            extends ProcessWindowFunction<Long, Long, Long, TimeWindow> {
        private static final long serialVersionUID = 1L;

        private final String out;
        private transient long end;
        private transient long lateMs;
        private transient long keys;
        private transient long partials;

        PerWindow(String out) {
            this.out = out;
        }

        @Override
        public void process(
                Long key, Context context, Iterable<Long> ofKey, Collector<Long> results) {
            if (end != context.window().getEnd()) {
                if (keys > 0) {
                    String file = out + "/windows-" + System.identityHashCode(this);
                    append(file, lateMs + " " + keys + " " + partials);
                }
                end = context.window().getEnd();
                keys = 0;
                partials = 0;
            }
            lateMs = System.currentTimeMillis() - end;
            for (long merged : ofKey) {
                keys++;
                partials += merged;
                results.collect(merged);
            }
        }
    }

    private static void append(String file, String line) {
        try {
            Files.writeString(
                    Path.of(file),
                    line + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
