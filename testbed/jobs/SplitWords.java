package testbed.jobs;

import dev.edgeplace.flink.split.SplitAggregate;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Counts skewed words in sliding windows, spread by a router, and for ever, where the source is:
 *
 * <pre>
 * words - route ~ windows: combine = windows: merge - sink of windows
 *       - totals: combine                           = totals: merge - sink of totals
 * </pre>
 *
 * <p>Both sinks are exactly-once files. Their lines are {@code word count sum} with the time of the
 * window's end in front, or without. The n-th word of a subtask of the source has the time n ms.
 *
 * <p>Arguments, each {@code key=value}: {@code records}, {@code per-second} of a source subtask,
 * {@code finish} and {@code out} as for {@link KindsOfState}; {@code workers}: subtasks of {@code
 * windows: combine}; {@code unaligned}: whether checkpoints are; {@code name} of the job.
 */
public final class SplitWords {
    private static final int SOURCES = 2;
    private static final int WORDS = 1000;

    private SplitWords() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        long records = arguments.whole("records", 0);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(SOURCES);
        env.enableCheckpointing(500);
        if (arguments.flag("unaligned", false)) {
            env.getCheckpointConfig().enableUnalignedCheckpoints();
        }
        PacedNumbers source =
                new PacedNumbers(
                        records,
                        arguments.decimal("per-second", 1000),
                        arguments.text("finish"),
                        SOURCES);
        WatermarkStrategy<Long> times =
                WatermarkStrategy.<Long>forMonotonousTimestamps()
                        .withTimestampAssigner((number, before) -> number % (records / SOURCES));
        DataStream<Long> words = env.fromSource(source, times, "words");
        String out = arguments.text("out");
        SplitAggregate.of(words, SplitWords::word)
                .named("windows")
                .spread(arguments.integer("workers", 4))
                // Panes of 1 and 2 s: the size is no multiple of the slide.
                .window(SlidingEventTimeWindows.of(Duration.ofSeconds(10), Duration.ofSeconds(3)))
                .aggregate(new CountAndSum(), new WithWindow())
                .sinkTo(CommittedLines.in(out + "/windows"))
                .name("windows");
        SplitAggregate.of(words, SplitWords::word)
                .named("totals")
                .flushEvery(Duration.ofMillis(200))
                .aggregate(new CountAndSum())
                .sinkTo(CommittedLines.in(out + "/totals"))
                .name("totals");
        String name = arguments.text("name", "split-words");
        arguments.refuseOthers();
        env.execute(name);
    }

    static String word(long number) {
        double place = Mix.unit(Mix.mix(number));
        return "w" + (int) (WORDS * place * place * place * place);
    }

    /** Numbers of a word. */
    public static class Numbers {
        public String word = "";
        public long count;
        public long sum;
    }

    private static final class CountAndSum implements AggregateFunction<Long, Numbers, String> {
        private static final long serialVersionUID = 1L;

        @Override
        public Numbers createAccumulator() {
            return new Numbers();
        }

        @Override
        public Numbers add(Long number, Numbers numbers) {
            numbers.word = word(number);
            numbers.count++;
            numbers.sum += number;
            return numbers;
        }

        @Override
        public String getResult(Numbers numbers) {
            return numbers.word + " " + numbers.count + " " + numbers.sum;
        }

        /** Keeps what it is given if it can, as Flink allows. */
        @Override
        public Numbers merge(Numbers a, Numbers b) {
            if (a.count == 0) {
                return b;
            }
            a.count += b.count;
            a.sum += b.sum;
            return a;
        }
    }

    private static final class WithWindow
            extends ProcessWindowFunction<String, String, String, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void process(
                String word, Context context, Iterable<String> results, Collector<String> out) {
            for (String result : results) {
                out.collect(context.window().getEnd() + " " + result);
            }
        }
    }
}
