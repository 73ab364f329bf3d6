package testbed.jobs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.BroadcastStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * Counts numbers in each kind of state that Flink redistributes when the parallelism changes:
 *
 * <pre>
 * numbers ~ listed - union - checked = keyed = sink
 *                |              | - committed
 *                \ side output = odd  = sink
 *                   rules -broadcast-> checked
 * </pre>
 *
 * <p>The source has eight splits. {@code listed} has list state, {@code union} has union list state,
 * {@code checked} has broadcast state, {@code keyed} and {@code odd} have keyed state. {@code rules}
 * is a bounded source: its subtask is FINISHED while the job runs. When the source ends, {@code
 * sink} writes one file for {@code listed}, {@code union}, {@code keyed} and {@code odd} each, with
 * the line {@code count sum squares} (sums modulo 2^64). {@code committed} is an exactly-once sink:
 * its files have each number on a line.
 *
 * <p>Arguments, each {@code key=value}:
 *
 * <ul>
 *   <li>{@code records}: how many numbers
 *   <li>{@code per-second}: of each source subtask, default 1000
 *   <li>{@code finish}: a file; once it is there, the rest comes at full speed
 *   <li>{@code out}: existing folder for the results; {@code committed} makes a folder in it
 *   <li>{@code parallelism}: of every operator but {@code rules} and {@code sink}, default 2
 *   <li>{@code pause-us}: of {@code keyed} at each number until {@code finish} is there, default 0
 *   <li>{@code unaligned}: whether checkpoints are, default false
 *   <li>{@code name}: of the job, default "kinds"
 * </ul>
 */
public final class KindsOfState {
    private static final int SPLITS = 8;
    private static final int RULES = 50;
    private static final int KEYS = 24;
    private static final int KEY_GROUPS = 4;
    private static final TypeInformation<Tuple2<String, long[]>> TOTAL =
            Types.TUPLE(Types.STRING, PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO);
    private static final OutputTag<Tuple2<String, long[]>> TOTALS = new OutputTag<>("totals", TOTAL);
    private static final OutputTag<Long> ODD = new OutputTag<>("odd", Types.LONG);
    private static final MapStateDescriptor<Long, Long> RULE =
            new MapStateDescriptor<>("rules", Types.LONG, Types.LONG);

    private KindsOfState() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(arguments.integer("parallelism", 2));
        env.enableCheckpointing(1000);
        if (arguments.flag("unaligned", false)) {
            env.getCheckpointConfig().enableUnalignedCheckpoints();
        }
        env.disableOperatorChaining();
        String finish = arguments.text("finish");
        PacedNumbers source =
                new PacedNumbers(
                        arguments.whole("records", 0),
                        arguments.decimal("per-second", 1000),
                        finish,
                        SPLITS);
        BroadcastStream<Long> rules =
                env.fromSequence(0, RULES - 1).setParallelism(1).name("rules").broadcast(RULE);

        SingleOutputStreamOperator<Long> listed =
                env.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers")
                        .rebalance()
                        .transform("listed", Types.LONG, new Tally("listed", false));
        SingleOutputStreamOperator<Long> union =
                listed.transform("union", Types.LONG, new Tally("union", true));
        SingleOutputStreamOperator<Long> checked =
                union.connect(rules)
                        .process(new Checked())
                        .returns(Types.LONG)
                        .name("checked");
        String out = arguments.text("out");
        checked.sinkTo(CommittedLines.in(out + "/committed")).name("committed");
        DataStream<Tuple2<String, long[]>> keyed =
                checked.keyBy(number -> (int) (number % KEYS), Types.INT)
                        .process(new Count("keyed", arguments.whole("pause-us", 0), finish))
                        .returns(TOTAL)
                        .name("keyed")
                        .setMaxParallelism(KEY_GROUPS);
        DataStream<Tuple2<String, long[]>> odd =
                listed.getSideOutput(ODD)
                        .keyBy(number -> (int) (number % KEYS), Types.INT)
                        .process(new Count("odd", 0, finish))
                        .returns(TOTAL)
                        .name("odd");
        keyed.union(odd, listed.getSideOutput(TOTALS), union.getSideOutput(TOTALS))
                .keyBy(total -> total.f0, Types.STRING)
                .process(new WriteFiles(out))
                .returns(Types.VOID)
                .name("sink")
                .setParallelism(1);
        env.execute(arguments.text("name", "kinds"));
    }

    private static void add(long[] total, long number) {
        total[0] += 1;
        total[1] += number;
        total[2] += number * number;
    }

    /** Counts in list state; its subtasks send their totals when the input ends. */
    private static final class Tally extends AbstractStreamOperator<Long>
            implements OneInputStreamOperator<Long, Long> {
        private static final long serialVersionUID = 1L;
        private static final int ENTRIES = 16;

        private final String kind;
        private final boolean isUnion;
        private transient ListState<long[]> state;
        private transient long[][] totals;

        Tally(String kind, boolean isUnion) {
            this.kind = kind;
            this.isUnion = isUnion;
        }

        @Override
        public void initializeState(StateInitializationContext context) throws Exception {
            super.initializeState(context);
            ListStateDescriptor<long[]> descriptor =
                    new ListStateDescriptor<>(
                            "totals", PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO);
            state =
                    isUnion
                            ? context.getOperatorStateStore().getUnionListState(descriptor)
                            : context.getOperatorStateStore().getListState(descriptor);
            totals = new long[ENTRIES][3];
            int subtasks = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            for (long[] each : state.get()) {
                int entry = (int) each[0];
                // Each subtask gets all entries of union list state, in an order that Flink does not
                // promise to be the same for all: it keeps its share by what an entry says.
                if (!isUnion || entry % subtasks == subtask) {
                    for (int k = 0; k < totals[entry].length; k++) {
                        totals[entry][k] += each[k + 1];
                    }
                }
            }
        }

        @Override
        public void snapshotState(StateSnapshotContext context) throws Exception {
            super.snapshotState(context);
            state.clear();
            for (int entry = 0; entry < ENTRIES; entry++) {
                long[] total = totals[entry];
                state.add(new long[] {entry, total[0], total[1], total[2]});
            }
        }

        @Override
        public void processElement(StreamRecord<Long> element) {
            long number = element.getValue();
            add(totals[(int) (number % ENTRIES)], number);
            if (!isUnion && number % 2 == 1) {
                output.collect(ODD, new StreamRecord<>(number));
            }
            output.collect(element);
        }

        @Override
        public void processWatermark(Watermark mark) throws Exception {
            // The last one says that the input has ended. The sink writes its files at it, so the
            // totals must come before.
            if (mark.getTimestamp() == Watermark.MAX_WATERMARK.getTimestamp()) {
                for (long[] each : totals) {
                    output.collect(TOTALS, new StreamRecord<>(Tuple2.of(kind, each)));
                }
                // A checkpoint may follow: what is restored from it must not send the totals again.
                totals = new long[ENTRIES][3];
            }
            super.processWatermark(mark);
        }
    }

    /** Fails if it is restored without all rules. */
    private static final class Checked extends BroadcastProcessFunction<Long, Long, Long>
            implements CheckpointedFunction {
        private static final long serialVersionUID = 1L;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            BroadcastState<Long, Long> rules =
                    context.getOperatorStateStore().getBroadcastState(RULE);
            int found = 0;
            for (Object ignored : rules.entries()) {
                found++;
            }
            if (context.isRestored() && found != RULES) {
                throw new IllegalStateException("broadcast state has " + found + " rules");
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {
            // All state is in broadcast state.
        }

        @Override
        public void processElement(Long number, ReadOnlyContext context, Collector<Long> out) {
            out.collect(number);
        }

        @Override
        public void processBroadcastElement(Long rule, Context context, Collector<Long> out)
                throws Exception {
            context.getBroadcastState(RULE).put(rule, rule);
        }
    }

    private static final class Count
            extends KeyedProcessFunction<Integer, Long, Tuple2<String, long[]>> {
        private static final long serialVersionUID = 1L;
        private static final int LOOK_FOR_FILE_EVERY = 100;

        private final String kind;
        private final long pauseMicros;
        private final String finish;
        private transient int untilLook;
        private transient boolean isFinishing;

        Count(String kind, long pauseMicros, String finish) {
            this.kind = kind;
            this.pauseMicros = pauseMicros;
            this.finish = finish;
        }

        @Override
        public void processElement(
                Long number, Context context, Collector<Tuple2<String, long[]>> out)
                throws Exception {
            if (pauseMicros > 0 && !isFinishing) {
                LockSupport.parkNanos(pauseMicros * 1000);
                if (untilLook-- == 0) {
                    isFinishing = Files.exists(Path.of(finish));
                    untilLook = LOOK_FOR_FILE_EVERY;
                }
            }
            ValueState<long[]> state = state();
            long[] total = state.value() == null ? new long[3] : state.value();
            add(total, number);
            state.update(total);
            context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
        }

        @Override
        public void onTimer(
                long timestamp, OnTimerContext context, Collector<Tuple2<String, long[]>> out)
                throws Exception {
            out.collect(Tuple2.of(kind, state().value()));
        }

        /** Looked up for each record: the method {@code open} differs between Flink 1 and 2. */
        private ValueState<long[]> state() {
            return getRuntimeContext()
                    .getState(
                            new ValueStateDescriptor<>(
                                    "total",
                                    PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO));
        }
    }

    private static final class WriteFiles
            extends KeyedProcessFunction<String, Tuple2<String, long[]>, Void> {
        private static final long serialVersionUID = 1L;

        private final String folder;

        WriteFiles(String folder) {
            this.folder = folder;
        }

        @Override
        public void processElement(
                Tuple2<String, long[]> total, Context context, Collector<Void> out)
                throws Exception {
            ValueState<long[]> state = state();
            long[] sum = state.value() == null ? new long[3] : state.value();
            for (int i = 0; i < sum.length; i++) {
                sum[i] += total.f1[i];
            }
            state.update(sum);
            context.timerService().registerEventTimeTimer(Long.MAX_VALUE);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<Void> out)
                throws Exception {
            long[] sum = state().value();
            Path draft = Files.createTempFile(Path.of(folder), ".draft", null);
            Files.writeString(
                    draft,
                    String.format(
                            "%d %s %s%n",
                            sum[0],
                            Long.toUnsignedString(sum[1]),
                            Long.toUnsignedString(sum[2])));
            Files.move(
                    draft,
                    Path.of(folder, context.getCurrentKey()),
                    StandardCopyOption.ATOMIC_MOVE);
        }

        private ValueState<long[]> state() {
            return getRuntimeContext()
                    .getState(
                            new ValueStateDescriptor<>(
                                    "total",
                                    PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO));
        }
    }
}
