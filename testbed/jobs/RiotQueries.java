package testbed.jobs;

import java.util.Arrays;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import testbed.jobs.Riot.Answer;
import testbed.jobs.RiotSensors.Measured;
import testbed.jobs.RiotSensors.Message;

/** The operators of {@link Riot}. */
final class RiotQueries {
    private static final int MEAN_OF = 10;
    private static final int LINE_OF = 10;
    private static final int FIELDS = RiotSensors.FIELDS;

    private RiotQueries() {}

    private static Answer answer(String query, String about, long newestMs, Object... words) {
        Answer answer = new Answer();
        answer.query = query;
        answer.about = about;
        answer.newestMs = newestMs;
        StringBuilder said = new StringBuilder();
        for (Object word : words) {
            said.append(said.length() == 0 ? "" : " ").append(word);
        }
        answer.said = said.toString();
        return answer;
    }

    private static boolean isOutlier(Measured measured, int field) {
        long value = measured.values[field];
        return value < RiotSensors.LEAST[field] || value > RiotSensors.MOST[field];
    }

    static final class Parse implements MapFunction<Message, Measured> {
        private static final long serialVersionUID = 1L;

        @Override
        public Measured map(Message message) {
            String[] words = message.text.split(",");
            Measured measured = new Measured();
            measured.station = Long.parseLong(words[0]);
            measured.number = Long.parseLong(words[1]);
            measured.timeMs = Long.parseLong(words[2]);
            measured.values = new long[FIELDS];
            for (int field = 0; field < FIELDS; field++) {
                measured.values[field] = Long.parseLong(words[3 + field]);
            }
            return measured;
        }
    }

    static final class Range implements MapFunction<Measured, Measured> {
        private static final long serialVersionUID = 1L;

        @Override
        public Measured map(Measured read) {
            // Other queries read the same record.
            Measured ranged = new Measured();
            ranged.station = read.station;
            ranged.number = read.number;
            ranged.timeMs = read.timeMs;
            ranged.values = read.values;
            for (int field = 0; field < FIELDS; field++) {
                ranged.missing |= isOutlier(read, field) ? 1 << field : 0;
            }
            return ranged;
        }
    }

    static final class Known implements FilterFunction<Measured> {
        private static final long serialVersionUID = 1L;

        private final RiotTables.Bloom inService;

        Known(int stations) {
            inService = new RiotTables.Bloom(stations);
        }

        @Override
        public boolean filter(Measured measured) {
            return inService.mayKnow(measured.station);
        }
    }

    /** Keeps the sum and the number of each field's values. */
    static final class Interpolate extends KeyedProcessFunction<Long, Measured, Measured> {
        private static final long serialVersionUID = 1L;
        private static final int LAST = 4;

        private transient ValueState<long[]> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("last", long[].class));
        }

        @Override
        public void processElement(Measured read, Context context, Collector<Measured> out)
                throws Exception {
            long[] last = state.value();
            if (last == null) {
                last = new long[FIELDS * LAST];
                for (int field = 0; field < FIELDS; field++) {
                    long middle = (RiotSensors.LEAST[field] + RiotSensors.MOST[field]) / 2;
                    Arrays.fill(last, field * LAST, (field + 1) * LAST, middle);
                }
            }
            Measured complete = new Measured();
            complete.station = read.station;
            complete.number = read.number;
            complete.timeMs = read.timeMs;
            complete.values = read.values.clone();
            for (int field = 0; field < FIELDS; field++) {
                int at = field * LAST;
                if ((read.missing & 1 << field) != 0) {
                    long sum = 0;
                    for (int i = 0; i < LAST; i++) {
                        sum += last[at + i];
                    }
                    complete.values[field] = Math.floorDiv(sum, LAST);
                }
                System.arraycopy(last, at + 1, last, at, LAST - 1);
                last[at + LAST - 1] = complete.values[field];
            }
            state.update(last);
            out.collect(complete);
        }
    }

    static final class Annotate implements MapFunction<Measured, Answer> {
        private static final long serialVersionUID = 1L;

        @Override
        public Answer map(Measured complete) {
            StringBuilder values = new StringBuilder();
            for (long value : complete.values) {
                values.append(',').append(value);
            }
            return answer(
                    "etl",
                    "",
                    complete.timeMs,
                    complete.station + "," + complete.number + values + ","
                            + RiotTables.district(complete.station));
        }
    }

    /** Keeps how many messages there were, and the sum of each field. */
    static final class Average extends KeyedProcessFunction<Long, Measured, Answer> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<long[]> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("sums", long[].class));
        }

        @Override
        public void processElement(Measured read, Context context, Collector<Answer> out)
                throws Exception {
            long[] sums = state.value() == null ? new long[FIELDS + 1] : state.value();
            sums[FIELDS]++;
            for (int field = 0; field < FIELDS; field++) {
                sums[field] += read.values[field];
            }
            if (sums[FIELDS] < MEAN_OF) {
                state.update(sums);
                return;
            }
            state.clear();
            for (int field = 0; field < FIELDS; field++) {
                long mean = Math.floorDiv(sums[field], MEAN_OF);
                out.collect(
                        answer(
                                "stats", "", read.timeMs, "mean", read.station, field,
                                read.number, mean));
            }
        }
    }

    /** Keeps the counters of the sketch, and tells the estimate after every tenth message. */
    static final class SecondMoment extends KeyedProcessFunction<Long, Measured, Answer> {
        private static final long serialVersionUID = 1L;
        private static final long STEP = 1000;

        private transient ValueState<long[]> state;

        @Override
        public void open(OpenContext context) {
            state =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("counters", long[].class));
        }

        @Override
        public void processElement(Measured read, Context context, Collector<Answer> out)
                throws Exception {
            long[] counters = state.value();
            if (counters == null) {
                counters = new long[RiotTables.Moment.COUNTERS];
            }
            for (long value : read.values) {
                RiotTables.Moment.add(Math.floorDiv(value, STEP), counters);
            }
            state.update(counters);
            if (read.number % MEAN_OF == MEAN_OF - 1) {
                long moment = RiotTables.Moment.estimate(counters);
                out.collect(
                        answer(
                                "stats", "", read.timeMs, "moment", read.station, read.number,
                                moment));
            }
        }
    }

    /** The values of a message: field, value, and time. */
    static final class OneByOne implements FlatMapFunction<Measured, Tuple3<Integer, Long, Long>> {
        private static final long serialVersionUID = 1L;

        @Override
        public void flatMap(Measured read, Collector<Tuple3<Integer, Long, Long>> out) {
            for (int field = 0; field < FIELDS; field++) {
                out.collect(Tuple3.of(field, read.values[field], read.timeMs));
            }
        }
    }

    /** Keeps the bits of the sketch, and tells the estimate whenever it has changed. */
    static final class CountDistinct
            extends KeyedProcessFunction<Integer, Tuple3<Integer, Long, Long>, Answer> {
        private static final long serialVersionUID = 1L;
        private static final long STEP = 100;

        private transient ValueState<long[]> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("bits", long[].class));
        }

        @Override
        public void processElement(
                Tuple3<Integer, Long, Long> value, Context context, Collector<Answer> out)
                throws Exception {
            long[] bits = state.value();
            if (bits == null) {
                bits = new long[RiotTables.Distinct.WORDS];
            }
            if (!RiotTables.Distinct.add(Math.floorDiv(value.f1, STEP), bits)) {
                return;
            }
            state.update(bits);
            long distinct = RiotTables.Distinct.estimate(bits);
            String about = "distinct " + value.f0;
            out.collect(answer("stats", about, value.f2, about, distinct));
        }
    }

    /** A decision tree of fixed thresholds; what is ordinary is not told. */
    static final class Classify implements FlatMapFunction<Measured, Answer> {
        private static final long serialVersionUID = 1L;

        @Override
        public void flatMap(Measured read, Collector<Answer> out) {
            String said;
            if (isOutlier(read, 3)) {
                said = "fault";
            } else if (read.values[3] > 300_000) {
                said = read.values[1] > 60_000 ? "fog" : "smog";
            } else if (read.values[0] > 20_000 && read.values[4] > 70_000) {
                said = "crowd";
            } else {
                return;
            }
            out.collect(
                    answer(
                            "predict", "", read.timeMs, "class", read.station, read.number, said));
        }
    }

    /** Keeps each field's last values and how many there are. */
    static final class Regress extends KeyedProcessFunction<Long, Measured, Answer> {
        private static final long serialVersionUID = 1L;
        private static final int TEMPERATURE = 0;

        private transient ValueState<long[]> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("last", long[].class));
        }

        @Override
        public void processElement(Measured read, Context context, Collector<Answer> out)
                throws Exception {
            long[] last = state.value() == null ? new long[0] : state.value();
            long value = read.values[TEMPERATURE];
            if (last.length == LINE_OF) {
                long error = value - RiotTables.Line.next(last);
                out.collect(
                        answer(
                                "predict", "", read.timeMs, "error", read.station, read.number,
                                error));
            }
            int kept = Math.min(last.length, LINE_OF - 1);
            long[] now = new long[kept + 1];
            System.arraycopy(last, last.length - kept, now, 0, kept);
            now[kept] = value;
            state.update(now);
        }
    }

    /** Messages of a station, with what is to be explained by what. */
    public static class Batch {
        public long station;
        public long number;
        public long timeMs;
        public long[] temperatures;
        public long[] dust;
    }

    static final class Gather extends KeyedProcessFunction<Long, Measured, Batch> {
        private static final long serialVersionUID = 1L;

        private final int trainOf;
        private transient ValueState<Batch> state;

        Gather(int trainOf) {
            this.trainOf = trainOf;
        }

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("batch", Batch.class));
        }

        @Override
        public void processElement(Measured read, Context context, Collector<Batch> out)
                throws Exception {
            Batch batch = state.value();
            if (batch == null) {
                batch = new Batch();
                batch.station = read.station;
                batch.temperatures = new long[0];
                batch.dust = new long[0];
            }
            batch.number = read.number;
            batch.timeMs = read.timeMs;
            batch.temperatures = with(read.values[0], batch.temperatures);
            batch.dust = with(read.values[3], batch.dust);
            if (batch.dust.length < trainOf) {
                state.update(batch);
            } else {
                state.clear();
                out.collect(batch);
            }
        }

        private static long[] with(long value, long[] before) {
            long[] all = Arrays.copyOf(before, before.length + 1);
            all[before.length] = value;
            return all;
        }
    }

    /** The slope of dust over temperature in thousandths, by least squares, rounded down. */
    static final class Fit implements MapFunction<Batch, Answer> {
        private static final long serialVersionUID = 1L;
        private static final long THOUSANDTHS = 1000;

        @Override
        public Answer map(Batch batch) {
            long n = batch.dust.length;
            long sumX = 0;
            long sumY = 0;
            long sumXx = 0;
            long sumXy = 0;
            for (int i = 0; i < n; i++) {
                // In tenths, so that no product of sums is too large for a long.
                long x = Math.floorDiv(batch.temperatures[i], 100);
                long y = Math.floorDiv(batch.dust[i], 100);
                sumX += x;
                sumY += y;
                sumXx += x * x;
                sumXy += x * y;
            }
            long spread = n * sumXx - sumX * sumX;
            long slope =
                    spread == 0
                            ? 0
                            : Math.floorDiv(THOUSANDTHS * (n * sumXy - sumX * sumY), spread);
            return answer("train", "", batch.timeMs, batch.station, batch.number, slope);
        }
    }
}
