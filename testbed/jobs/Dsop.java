package testbed.jobs;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * Words of each key in a sliding window, where frequent keys are split: {@code lines - partition =
 * combine = reduce ~ sink}, and {@code combine ~ sink} for keys that are not split.
 *
 * <p>Keys are numbered by frequency. The first {@code true-hot-keys} have workers of their own, in
 * proportion to their frequency; the other {@code hot-keys} go to all workers in turn; all other keys
 * are hashed, so what {@code combine} says of them is final.
 *
 * <p>Arguments beside those of {@link HeadlineJob}:
 *
 * <ul>
 *   <li>{@code keys}, default 100, and {@code zipf}, default 1.5: the n-th key is 1/n^zipf as frequent
 *       as the first
 *   <li>{@code hot-keys} and {@code true-hot-keys}, default 10 each
 *   <li>{@code combiners} and {@code reducers}: subtasks, default {@code parallelism}
 *   <li>{@code window-ms}, default 5000, and {@code slide-ms}, default 1000
 *   <li>{@code words}: most words of a line, default 10
 *   <li>{@code selectivity}: the share of the lines that {@code partition} hands on, default 1
 *   <li>{@code workload-ratio}: how many times {@code combine} goes over each line, default 1
 *   <li>{@code state-bytes}: what each key of a window holds beside its count, default 0
 *   <li>{@code shift-records}: after so many lines of a site, another key is the most frequent one;
 *       default 0 for never
 * </ul>
 */
public final class Dsop {
    private static final OutputTag<Words> WHOLE =
            new OutputTag<>("whole", TypeInformation.of(Words.class));

    private Dsop() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        int keys = job.arguments.integer("keys", 100);
        double zipf = job.arguments.decimal("zipf", 1.5);
        int hotKeys = job.arguments.integer("hot-keys", 10);
        int trueHotKeys = job.arguments.integer("true-hot-keys", 10);
        int parallelism = job.arguments.integer("parallelism", 2);
        int combiners = job.arguments.integer("combiners", parallelism);
        int reducers = job.arguments.integer("reducers", parallelism);
        Duration window = Duration.ofMillis(job.arguments.whole("window-ms", 5000));
        Duration slide = Duration.ofMillis(job.arguments.whole("slide-ms", 1000));
        double selectivity = job.arguments.decimal("selectivity", 1);
        int ratio = job.arguments.integer("workload-ratio", 1);
        int stateBytes = job.arguments.integer("state-bytes", 0);
        if (keys < 1 || trueHotKeys > hotKeys || hotKeys > keys) {
            throw new IllegalArgumentException(
                    "true-hot-keys is at most hot-keys, and hot-keys at most keys, not "
                            + trueHotKeys + ", " + hotKeys + " and " + keys);
        }
        if (ratio < 1 || stateBytes < 0 || !(selectivity >= 0 && selectivity <= 1)) {
            throw new IllegalArgumentException(
                    "workload-ratio is at least 1, state-bytes at least 0 and selectivity from 0 to"
                            + " 1, not " + ratio + ", " + stateBytes + " and " + selectivity);
        }
        double[] upTo = upTo(keys, zipf);
        Lines recipe =
                new Lines(
                        upTo,
                        job.arguments.integer("words", 10),
                        job.arguments.whole("shift-records", 0));
        DataStream<Line> lines = job.source("lines", recipe, Line.class);
        Route route = new Route(upTo, hotKeys, trueHotKeys, combiners, selectivity);
        DataStream<Line> routed = job.atSites("partition", lines.flatMap(route));
        SingleOutputStreamOperator<Words> combined =
                job.keyed(
                                "combine",
                                routed.keyBy(line -> line.worker, Types.INT)
                                        .window(SlidingEventTimeWindows.of(window, slide))
                                        .aggregate(
                                                new Count(ratio, stateBytes),
                                                new SayByKey(hotKeys),
                                                Types.MAP(Types.LONG, WORDS),
                                                Types.MAP(Types.LONG, WORDS),
                                                WORDS))
                        // A worker's number is a key in one of its key groups: one for each worker.
                        .setMaxParallelism(combiners)
                        .setParallelism(combiners);
        SingleOutputStreamOperator<Words> reduced =
                job.keyed(
                                "reduce",
                                combined.keyBy(words -> words.key)
                                        .window(TumblingEventTimeWindows.of(slide))
                                        .reduce(Dsop::sum))
                        .setParallelism(reducers);
        job.run("Dsop", reduced.union(combined.getSideOutput(WHOLE)));
    }

    /** The shares of the keys, added up: the n-th is 1/n^zipf of the first. */
    private static double[] upTo(int keys, double zipf) {
        double[] upTo = new double[keys];
        double sum = 0;
        for (int i = 0; i < keys; i++) {
            sum += StrictMath.pow(i + 1, -zipf);
            upTo[i] = sum;
        }
        for (int i = 0; i < keys; i++) {
            upTo[i] /= sum;
        }
        return upTo;
    }

    private static Words sum(Words left, Words right) {
        Words both = new Words();
        both.key = left.key;
        both.endMs = left.endMs;
        both.words = left.words + right.words;
        both.newestMs = Math.max(left.newestMs, right.newestMs);
        both.more = left.more;
        return both;
    }

    public static class Line {
        public long key;
        public int worker;
        public String text;
        public long timeMs;
    }

    /** Words of a key in a window. */
    public static class Words implements Result {
        public long key;
        public long endMs;
        public long words;
        public long newestMs;
        public byte[] more;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return endMs + " " + key + " " + words;
        }
    }

    private static final TypeInformation<Words> WORDS = TypeInformation.of(Words.class);

    private static final class Lines implements Recipe<Line> {
        private static final long serialVersionUID = 1L;
        private static final int LETTERS = 26;

        private final double[] upTo;
        private final int words;
        private final long shiftRecords;

        Lines(double[] upTo, int words, long shiftRecords) {
            this.upTo = upTo;
            this.words = words;
            this.shiftRecords = shiftRecords;
        }

        @Override
        public Line make(int site, long number, long timeMs) {
            long dice = Mix.of(site, number);
            int found = Arrays.binarySearch(upTo, Mix.unit(dice));
            int rank = found < 0 ? -found - 1 : found;
            long shifts = shiftRecords == 0 ? 0 : number / shiftRecords;
            Line line = new Line();
            line.key = (rank + shifts) % upTo.length;
            dice = Mix.mix(dice);
            int length = 1 + Mix.below(words, dice);
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < length; i++) {
                dice = Mix.mix(dice);
                text.append(i == 0 ? "" : " ").append("word");
                text.append((char) ('a' + Mix.below(LETTERS, dice)));
            }
            line.text = text.toString();
            line.timeMs = timeMs;
            return line;
        }
    }

    /** Says which worker takes a line. */
    private static final class Route extends RichFlatMapFunction<Line, Line> {
        private static final long serialVersionUID = 1L;

        private final int[] first;
        private final int[] behindLast;
        private final int[] keyOfWorker;
        private final double selectivity;
        private transient int[] turn;

        Route(double[] upTo, int hotKeys, int trueHotKeys, int workers, double selectivity) {
            this.selectivity = selectivity;
            first = new int[hotKeys];
            behindLast = new int[hotKeys];
            for (int key = 0; key < hotKeys; key++) {
                if (key < trueHotKeys) {
                    double before = key == 0 ? 0 : upTo[key - 1];
                    double all = upTo[hotKeys - 1];
                    first[key] = (int) Math.floor(before / all * workers);
                    behindLast[key] =
                            Math.min(workers, (int) Math.ceil(upTo[key] / all * workers));
                } else {
                    behindLast[key] = workers;
                }
            }
            keyOfWorker = new int[workers];
            for (int worker = 0; worker < workers; worker++) {
                while (KeyGroupRangeAssignment.assignKeyToParallelOperator(
                                keyOfWorker[worker], workers, workers)
                        != worker) {
                    keyOfWorker[worker]++;
                }
            }
        }

        @Override
        public void open(OpenContext context) {
            turn = new int[first.length];
        }

        @Override
        public void flatMap(Line line, Collector<Line> out) {
            long dice = Mix.of(line.text);
            if (selectivity < 1 && Mix.unit(dice) >= selectivity) {
                return;
            }
            int key = (int) line.key;
            int worker;
            if (key < first.length) {
                turn[key] = (turn[key] + 1) % (behindLast[key] - first[key]);
                worker = first[key] + turn[key];
            } else {
                worker = Mix.below(keyOfWorker.length, Mix.mix(key));
            }
            Line routed = new Line();
            routed.key = line.key;
            routed.worker = keyOfWorker[worker];
            routed.text = line.text;
            routed.timeMs = line.timeMs;
            out.collect(routed);
        }
    }

    /** The words of each key of a worker. */
    private static final class Count
            implements AggregateFunction<Line, Map<Long, Words>, Map<Long, Words>> {
        private static final long serialVersionUID = 1L;

        private final int ratio;
        private final int stateBytes;

        Count(int ratio, int stateBytes) {
            this.ratio = ratio;
            this.stateBytes = stateBytes;
        }

        @Override
        public Map<Long, Words> createAccumulator() {
            return new HashMap<>();
        }

        @Override
        public Map<Long, Words> add(Line line, Map<Long, Words> counts) {
            long words = 0;
            for (int time = 0; time < ratio; time++) {
                words = line.text.split(" ").length;
            }
            Words sum = counts.get(line.key);
            if (sum == null) {
                sum = new Words();
                sum.key = line.key;
                sum.more = new byte[stateBytes];
                counts.put(line.key, sum);
            }
            sum.words += words;
            sum.newestMs = Math.max(sum.newestMs, line.timeMs);
            return counts;
        }

        @Override
        public Map<Long, Words> getResult(Map<Long, Words> counts) {
            return counts;
        }

        @Override
        public Map<Long, Words> merge(Map<Long, Words> left, Map<Long, Words> right) {
            right.forEach((key, words) -> left.merge(key, words, Dsop::sum));
            return left;
        }
    }

    private static final class SayByKey
            extends ProcessWindowFunction<Map<Long, Words>, Words, Integer, TimeWindow> {
        private static final long serialVersionUID = 1L;

        private final int hotKeys;

        SayByKey(int hotKeys) {
            this.hotKeys = hotKeys;
        }

        @Override
        public void process(
                Integer worker,
                Context context,
                Iterable<Map<Long, Words>> ofWorker,
                Collector<Words> out) {
            for (Map<Long, Words> counts : ofWorker) {
                for (Words words : counts.values()) {
                    words.endMs = context.window().getEnd();
                    if (words.key < hotKeys) {
                        out.collect(words);
                    } else {
                        context.output(WHOLE, words);
                    }
                }
            }
        }
    }
}
