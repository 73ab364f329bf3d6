package dev.edgeplace.flink.split;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple1;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/**
 * Answers the tests: for each line on standard input one line of JSON. A line is a word and arguments
 * in Base64, separated by blanks:
 *
 * <ul>
 *   <li>{@code shares TEXT COMBINES WORKERS ROUTERS EPOCH}: the weights in a text for routers of
 *       tasks of these names, one a line, or why they are refused
 *   <li>{@code rule WEIGHTS KEYS...}: for each slide, a text with a key's number on each line: the
 *       worker of each record
 *   <li>{@code panes SIZE SLIDE OFFSET TIMES}: begin and end of the pane of each time
 *   <li>{@code refusal WHAT}: the message of a split aggregate that cannot be
 *   <li>{@code local KEYS REPEATS OPTION}: the keys and counts of a job in this JVM, which sends
 *       {@code REPEATS} records of each key and then of key 0 as many as there are keys; or why it
 *       failed. Keys are counted from 0; {@code OPTION} is {@code reuse}, {@code null}, which makes a
 *       key null, or {@code plain}
 *   <li>{@code windowed FORM}: lines {@code KEY BEGIN COUNT} of the numbers 0 to 99, whose keys are
 *       their last digits and whose times are themselves in ms, in windows of 40 ms, by one form of
 *       {@code aggregate}
 * </ul>
 */
final class SplitProbe {
    private SplitProbe() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] asked = line.split(" ", -1);
            byte[][] given = new byte[asked.length - 1][];
            for (int i = 1; i < asked.length; i++) {
                given[i - 1] = Base64.getDecoder().decode(asked[i]);
            }
            System.out.println(Json.of(answer(asked[0], given)));
        }
    }

    private static Object answer(String asked, byte[][] given) throws Exception {
        switch (asked) {
            case "shares":
                return shares(given);
            case "rule":
                return rule(given);
            case "panes":
                return panes(given);
            case "refusal":
                return refusal(text(given[0]));
            case "local":
                return local(
                        Integer.parseInt(text(given[0])),
                        Integer.parseInt(text(given[1])),
                        text(given[2]));
            case "windowed":
                return windowed(text(given[0]));
            default:
                throw new IllegalArgumentException(asked);
        }
    }

    private static Object shares(byte[][] given) {
        Shares read = Shares.parse(given[0]);
        List<Routers> all = new ArrayList<>();
        for (String combine : lines(given[1])) {
            Routers routers = new Routers(combine, Integer.parseInt(text(given[2])));
            routers.count = Integer.parseInt(text(given[3]));
            all.add(routers);
        }
        List<String> problems = read.problemsFor(all, Long.parseLong(text(given[4])));
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("problems", problems);
        if (problems.isEmpty()) {
            String combine = all.get(0).combine;
            Shares.OfTask task = read.tasks.get(combine);
            found.put("epoch", read.epoch);
            found.put("weights", task.listed());
            found.put(
                    "again",
                    Shares.parse(
                                    Shares.text(combine, task, 0)
                                            .getBytes(StandardCharsets.UTF_8))
                            .tasks
                            .get(combine)
                            .listed());
        }
        return found;
    }

    private static Object rule(byte[][] given) {
        double[] weights = Arrays.stream(lines(given[0])).mapToDouble(Double::parseDouble).toArray();
        Rule rule = new Rule(weights.length);
        rule.use(weights);
        List<List<Integer>> slides = new ArrayList<>();
        for (int i = 1; i < given.length; i++) {
            List<Integer> workers = new ArrayList<>();
            for (String key : lines(given[i])) {
                workers.add(rule.route(RouteOperator.mixed(Long.parseLong(key))));
            }
            slides.add(workers);
            rule.end();
        }
        return slides;
    }

    private static Object panes(byte[][] given) {
        Duration size = Duration.ofMillis(Long.parseLong(text(given[0])));
        Duration slide = Duration.ofMillis(Long.parseLong(text(given[1])));
        Duration offset = Duration.ofMillis(Long.parseLong(text(given[2])));
        Panes panes =
                size.equals(slide)
                        ? Panes.of(TumblingEventTimeWindows.of(size, offset))
                        : Panes.of(SlidingEventTimeWindows.of(size, slide, offset));
        return Arrays.stream(lines(given[3]))
                .map(Long::parseLong)
                .map(time -> List.of(panes.start(time), panes.end(time)))
                .collect(Collectors.toList());
    }

    private static String refusal(String what) {
        try {
            SplitAggregate<Long, Long> split =
                    SplitAggregate.of(
                            StreamExecutionEnvironment.getExecutionEnvironment()
                                    .fromSequence(1, 2),
                            number -> number);
            switch (what) {
                case "session":
                    split.window(EventTimeSessionWindows.withGap(Duration.ofSeconds(1)));
                    break;
                case "processing time":
                    split.window(TumblingProcessingTimeWindows.of(Duration.ofSeconds(1)));
                    break;
                case "no merge":
                    split.aggregate(new Unmergeable());
                    break;
                case "null merge":
                    split.aggregate(new MergesToNull());
                    break;
                case "no workers":
                    split.spread(0);
                    break;
                case "no window":
                    split.aggregate(new Count(), new Line());
                    break;
                default:
                    throw new IllegalStateException(what);
            }
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
        return "";
    }

    private static Object local(int keys, int repeats, String option) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2);
        if (option.equals("reuse")) {
            env.getConfig().enableObjectReuse();
        }
        long distinct = (long) keys * repeats;
        long nullKey = option.equals("null") ? 7 : -1;
        boolean isRandom = option.equals("random");
        // The key is the record itself, which is used anew if objects are.
        DataStream<Tuple1<Long>> records =
                env.fromSequence(0, distinct + keys - 1)
                        .map(number -> Tuple1.of(number < distinct ? number % keys : 0))
                        .returns(Types.TUPLE(Types.LONG));
        // One partial of each random key, so that its only total has all of its records.
        SplitAggregate<Tuple1<Long>, Tuple1<Long>> split =
                isRandom
                        ? SplitAggregate.of(
                                        records,
                                        record -> Tuple1.of(new Random().nextInt(5) + 0L),
                                        Types.TUPLE(Types.LONG))
                                .spread(1)
                                .flushEvery(Duration.ofDays(1))
                        : SplitAggregate.of(
                                        records,
                                        record -> record.f0 == nullKey ? null : record,
                                        Types.TUPLE(Types.LONG))
                                .spread(2);
        DataStream<Tuple2<Long, Long>> totals =
                split.atMostKeys(50_000).aggregate(new Totals());
        Map<String, Long> largest = new TreeMap<>();
        try (CloseableIterator<Tuple2<Long, Long>> found = totals.executeAndCollect()) {
            found.forEachRemaining(
                    total -> largest.merge(String.valueOf(total.f0), total.f1, Math::max));
        } catch (Exception e) {
            String said = "";
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                said = cause.getMessage();
            }
            return said;
        }
        Map<String, Long> summary = new TreeMap<>();
        summary.put("keys", (long) largest.size());
        summary.put("of key 0", largest.get("0"));
        summary.put("sum", largest.values().stream().mapToLong(count -> count).sum());
        return summary;
    }

    private static List<String> windowed(String form) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        DataStream<Long> numbers =
                env.fromSequence(0, 99)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Long>forMonotonousTimestamps()
                                        .withTimestampAssigner((number, before) -> number));
        SplitAggregate<Long, Long> split =
                SplitAggregate.of(numbers, number -> number % 10)
                        .window(TumblingEventTimeWindows.of(Duration.ofMillis(40)));
        List<String> found = new ArrayList<>();
        try (CloseableIterator<String> results = lines(split, form).executeAndCollect()) {
            results.forEachRemaining(found::add);
        }
        return found;
    }

    private static DataStream<String> lines(SplitAggregate<Long, Long> split, String form) {
        switch (form) {
            case "WindowFunction":
                return split.aggregate(new Count(), new Line());
            case "WindowFunction, typed":
                return split.aggregate(new Count(), new Line(), Types.LONG, Types.STRING);
            case "lambda, typed":
                return split.aggregate(
                        new Count(),
                        (Long key, TimeWindow window, Iterable<Long> counts, Collector<String> out) ->
                                out.collect(line(key, window, counts)),
                        Types.LONG,
                        Types.STRING);
            case "ProcessWindowFunction":
                return split.aggregate(new Count(), new ProcessedLine());
            case "ProcessWindowFunction, typed":
                return split.aggregate(
                        new Count(), new ProcessedLine(), Types.LONG, Types.LONG, Types.STRING);
            default:
                throw new IllegalArgumentException(form);
        }
    }

    private static String line(long key, TimeWindow window, Iterable<Long> counts) {
        return key + " " + window.getStart() + " " + counts.iterator().next();
    }

    private static final class Line implements WindowFunction<Long, String, Long, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void apply(
                Long key, TimeWindow window, Iterable<Long> counts, Collector<String> out) {
            out.collect(line(key, window, counts));
        }
    }

    private static final class ProcessedLine
            extends ProcessWindowFunction<Long, String, Long, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void process(
                Long key, Context context, Iterable<Long> counts, Collector<String> out) {
            out.collect(line(key, context.window(), counts));
        }
    }

    private static final class Count extends MergesToNull {
        private static final long serialVersionUID = 1L;

        @Override
        public Long add(Long value, Long count) {
            return count + 1;
        }

        @Override
        public Long merge(Long a, Long b) {
            return a + b;
        }
    }

    private static final class Totals
            implements AggregateFunction<Tuple1<Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> {
        private static final long serialVersionUID = 1L;

        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(-1L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(Tuple1<Long> record, Tuple2<Long, Long> total) {
            return Tuple2.of(Math.max(record.f0, total.f0), total.f1 + 1);
        }

        @Override
        public Tuple2<Long, Long> getResult(Tuple2<Long, Long> total) {
            return total;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
            return Tuple2.of(Math.max(a.f0, b.f0), a.f1 + b.f1);
        }
    }

    private static String[] lines(byte[] bytes) {
        return text(bytes).split("\n");
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static class MergesToNull implements AggregateFunction<Long, Long, Long> {
        private static final long serialVersionUID = 1L;

        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Long value, Long sum) {
            return value + sum;
        }

        @Override
        public Long getResult(Long sum) {
            return sum;
        }

        @Override
        public Long merge(Long a, Long b) {
            return null;
        }
    }

    private static final class Unmergeable extends MergesToNull {
        private static final long serialVersionUID = 1L;

        @Override
        public Long merge(Long a, Long b) {
            throw new UnsupportedOperationException();
        }
    }
}
