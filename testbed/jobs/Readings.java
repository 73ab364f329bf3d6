package testbed.jobs;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;

/**
 * What sensors say to the brokers of their sites: {@code readings - fresh - combine ~ sink}.
 *
 * <p>A message is {@code sensor number value}, and the messages of a sensor have the numbers 0, 1, 2
 * and so on. {@code fresh} passes on each number once: a broker or a producer that is not sure sends a
 * message again. {@code combine} adds up a site's readings for a moment. The exactly-once sink has
 * lines {@code sensor count sum last again}: new readings, the sum of their values, the number of the
 * last, and how many came again. So the counts of a sensor add up to its last number plus one, unless
 * one is lost.
 *
 * <p>Arguments, each {@code key=value}: {@code out}, existing folder for the committed lines; {@code
 * checkpoint-ms}, default 1000; {@code flush-ms}, default 500, see {@link Combine}; {@code name}.
 */
final class Readings {
    private Readings() {}

    public static class Reading {
        public String sensor;
        public long number;
        public long value;
        public boolean again;
    }

    public static class Summary {
        public String sensor;
        public long count;
        public long sum;
        public long last = -1;
        public long again;

        @Override
        public String toString() {
            return sensor + " " + count + " " + sum + " " + last + " " + again;
        }
    }

    /** Builds the job and starts it. */
    static void run(
            Arguments arguments, int sites, BrokerSource.Connection connection, String name)
            throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.enableCheckpointing(arguments.whole("checkpoint-ms", 1000));
        SingleOutputStreamOperator<String> readings =
                env.fromSource(
                                new BrokerSource(connection),
                                WatermarkStrategy.noWatermarks(),
                                "readings",
                                Types.STRING)
                        .setParallelism(sites)
                        .uid("readings")
                        .disableChaining();
        SingleOutputStreamOperator<Reading> fresh =
                readings.process(new Fresh())
                        .name("fresh")
                        .uid("fresh")
                        .setParallelism(sites)
                        .disableChaining();
        SingleOutputStreamOperator<Summary> combine =
                fresh.transform(
                                "combine",
                                TypeInformation.of(Summary.class),
                                new CombineReadings(arguments.whole("flush-ms", 500)))
                        .uid("combine")
                        .setParallelism(sites)
                        .disableChaining();
        combine.sinkTo(CommittedLines.in(arguments.text("out"))).name("sink").setParallelism(1);
        String jobName = arguments.text("name", name);
        arguments.refuseOthers();
        env.execute(jobName);
    }

    /** Keeps the last number of each sensor of its site. */
    private static final class Fresh extends ProcessFunction<String, Reading>
            implements CheckpointedFunction {
        private static final long serialVersionUID = 1L;

        private transient Map<String, Long> last;
        private transient ListState<Map<String, Long>> stored;

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            last = new HashMap<>();
            stored =
                    context.getOperatorStateStore()
                            .getListState(
                                    new ListStateDescriptor<>(
                                            "last", Types.MAP(Types.STRING, Types.LONG)));
            for (Map<String, Long> each : stored.get()) {
                last.putAll(each);
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            stored.update(List.of(last));
        }

        @Override
        public void processElement(String message, Context context, Collector<Reading> out) {
            String[] words = message.split(" ");
            if (words.length != 3) {
                throw new IllegalArgumentException(
                        "a message is a sensor, a number and a value, not \"" + message + "\"");
            }
            Reading reading = new Reading();
            reading.sensor = words[0];
            reading.number = Long.parseLong(words[1]);
            reading.value = Long.parseLong(words[2]);
            // Brokers keep the order of a topic's and of a partition's messages.
            reading.again = reading.number <= last.getOrDefault(reading.sensor, -1L);
            if (!reading.again) {
                last.put(reading.sensor, reading.number);
            }
            out.collect(reading);
        }
    }

    private static final class CombineReadings extends Combine<Reading, String, Summary> {
        private static final long serialVersionUID = 1L;
        private static final int FLUSH_RECORDS = 100_000;

        CombineReadings(long flushMs) {
            super(FLUSH_RECORDS, flushMs);
        }

        @Override
        protected void fold(Reading reading, Map<String, Summary> partials) {
            Summary summary = partials.computeIfAbsent(reading.sensor, none -> new Summary());
            summary.sensor = reading.sensor;
            if (reading.again) {
                summary.again++;
                return;
            }
            summary.count++;
            summary.sum += reading.value;
            summary.last = reading.number;
        }
    }
}
