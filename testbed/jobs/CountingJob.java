package testbed.jobs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Counts numbers per key and notices each one that is lost or counted twice:
 * {@code numbers -> filter -> (HASH) -> count -> sink}.
 *
 * <p>The key of a number is its remainder modulo {@code keys}, its round the quotient; the filter
 * keeps the even rounds. So the numbers of a key that come from one range of the source have a
 * known order without gaps, and a number that is not the next one is a fault. Counts, sums, faults
 * and the next numbers are in state. When the source ends, the sink writes a file for each key with
 * the line {@code count sum faults}; a repeated write changes nothing.
 *
 * <p>Arguments, each {@code key=value}:
 *
 * <ul>
 *   <li>{@code records}: how many numbers, a multiple of {@code 2 * keys * parallelism}
 *   <li>{@code per-second}: of all source subtasks together, default 1000
 *   <li>{@code finish}: a file; once it is there, the rest comes at full speed, or at the rate of a
 *       subtask that it has
 *   <li>{@code out}: existing folder for the results
 *   <li>{@code keys}: default 24
 *   <li>{@code parallelism}: of every operator, default 3
 *   <li>{@code count-parallelism}: of {@code count} and {@code sink}, default the same
 *   <li>{@code checkpoint-ms}: interval, default 1000; 0 for no checkpoints
 *   <li>{@code chaining}, {@code sharing}: of operators and of slots, default true
 *   <li>{@code fails-at}: with this parallelism, {@code count} cannot start; default 0, none
 *   <li>{@code committed}: if given, {@code sink} is an exactly-once sink of all counted numbers, with
 *       its files in this folder; its two operators are one task
 *   <li>{@code name}: of the job, default "counting"
 * </ul>
 */
public final class CountingJob {
    private CountingJob() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        int parallelism = arguments.integer("parallelism", 3);
        int countParallelism = arguments.integer("count-parallelism", parallelism);
        int keys = arguments.integer("keys", 24);
        long records = arguments.whole("records", 0);
        if (records <= 0 || records % (2L * keys * parallelism) != 0) {
            throw new IllegalArgumentException(
                    "records: " + records + " is no multiple of 2 * keys * parallelism");
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(parallelism);
        long checkpointMs = arguments.whole("checkpoint-ms", 1000);
        if (checkpointMs > 0) {
            env.enableCheckpointing(checkpointMs);
        }
        boolean chaining = arguments.flag("chaining", true);
        String committed = arguments.text("committed", "");
        boolean sharing = arguments.flag("sharing", true);
        double perSubtask = arguments.whole("per-second", 1000) / (double) parallelism;
        PacedNumbers numbers = new PacedNumbers(records, perSubtask, arguments.text("finish"));

        SingleOutputStreamOperator<Long> source =
                env.fromSource(numbers, WatermarkStrategy.noWatermarks(), "numbers");
        SingleOutputStreamOperator<Long> filter =
                source.filter(number -> number / keys % 2 == 0).name("filter");
        SingleOutputStreamOperator<String> count =
                filter.keyBy(number -> (int) (number % keys), Types.INT)
                        .process(
                                new Count(
                                        keys,
                                        records / parallelism,
                                        arguments.integer("fails-at", 0),
                                        !committed.isEmpty()))
                        .returns(Types.STRING)
                        .name("count")
                        .setParallelism(countParallelism);
        if (!chaining) {
            source.disableChaining();
            filter.disableChaining();
            count.disableChaining();
        }
        if (!sharing) {
            source.slotSharingGroup("numbers");
            filter.slotSharingGroup("filter");
            count.slotSharingGroup("count");
        }
        if (committed.isEmpty()) {
            SingleOutputStreamOperator<Void> sink =
                    count.process(new WriteFiles(arguments.text("out")))
                            .returns(Types.VOID)
                            .name("sink")
                            .setParallelism(countParallelism);
            if (!sharing) {
                sink.slotSharingGroup("sink");
            }
            if (!chaining) {
                sink.disableChaining();
            }
        } else {
            count.sinkTo(CommittedLines.in(committed)).name("sink").setParallelism(countParallelism);
        }
        env.execute(arguments.text("name", "counting"));
    }

    private static final class Count extends KeyedProcessFunction<Integer, Long, String>
            implements CheckpointedFunction {
        private static final long serialVersionUID = 1L;
        private static final String COUNT = "count";
        private static final String SUM = "sum";
        private static final String FAULTS = "faults";

        private final int keys;
        private final long perRange;
        private final int failsAt;
        private final boolean emitsEach;

        Count(int keys, long perRange, int failsAt, boolean emitsEach) {
            this.keys = keys;
            this.perRange = perRange;
            this.failsAt = failsAt;
            this.emitsEach = emitsEach;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) {
            if (getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks() == failsAt) {
                throw new IllegalStateException("as ordered by fails-at");
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {
            // All state is keyed.
        }

        @Override
        public void processElement(Long number, Context context, Collector<String> out)
                throws Exception {
            MapState<String, Long> totals = totals();
            add(totals, COUNT, 1);
            add(totals, SUM, number);
            if (emitsEach) {
                out.collect(number.toString());
            }
            MapState<Long, Long> nextInRange =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("next", Types.LONG, Types.LONG));
            long range = number / perRange;
            Long next = nextInRange.get(range);
            if (number != (next == null ? range * perRange + context.getCurrentKey() : next)) {
                add(totals, FAULTS, 1);
            }
            nextInRange.put(range, number + 2L * keys);
            // Fires when the source has ended: then the watermark is the largest possible.
            context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            MapState<String, Long> totals = totals();
            out.collect(
                    String.format(
                            "%d %d %d %d",
                            context.getCurrentKey(),
                            value(totals, COUNT),
                            value(totals, SUM),
                            value(totals, FAULTS)));
        }

        /** Looked up for each record: the method {@code open} differs between Flink 1 and 2. */
        private MapState<String, Long> totals() {
            return getRuntimeContext()
                    .getMapState(new MapStateDescriptor<>("totals", Types.STRING, Types.LONG));
        }

        private static void add(MapState<String, Long> totals, String name, long more)
                throws Exception {
            totals.put(name, value(totals, name) + more);
        }

        private static long value(MapState<String, Long> totals, String name) throws Exception {
            Long value = totals.get(name);
            return value == null ? 0 : value;
        }
    }

    private static final class WriteFiles extends ProcessFunction<String, Void> {
        private static final long serialVersionUID = 1L;

        private final String folder;

        WriteFiles(String folder) {
            this.folder = folder;
        }

        @Override
        public void processElement(String result, Context context, Collector<Void> out)
                throws Exception {
            int separator = result.indexOf(' ');
            Path file = Path.of(folder, result.substring(0, separator));
            Path draft = Files.createTempFile(file.getParent(), ".draft", null);
            Files.writeString(draft, result.substring(separator + 1) + "\n");
            Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
        }
    }
}
