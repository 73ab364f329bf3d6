package testbed.jobs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import testbed.jobs.RiotSensors.Measured;
import testbed.jobs.RiotSensors.Message;

/**
 * Queries on the messages of weather stations, in the style of RIoTBench's ETL, STATS, PRED and TRAIN:
 * {@code messages - parse - ... ~ sink}. One job may have one of them, or several that share source
 * and {@code parse}.
 *
 * <ul>
 *   <li>{@code etl}: {@code parse - range - known = interpolate - annotate ~ sink}: measurements out of
 *       range become missing, stations out of service are left out, what is missing becomes the mean
 *       of the station's last values, and the station's district is added
 *   <li>{@code stats}: {@code parse = average}, {@code parse = moment} and {@code parse - fields =
 *       distinct}, all {@code ~ sink}: of each station and field the mean of ten, of each station the second moment of its
 *       values, of each field the number of distinct values
 *   <li>{@code predict}: {@code parse - classify ~ sink} by a decision tree, and {@code parse = regress ~
 *       sink}: how far a measurement is from the line through the station's ten before
 *   <li>{@code train}: {@code parse = collect - fit ~ sink}: a linear regression on each {@code train-of}
 *       messages of a station, default 50
 * </ul>
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code queries}, default {@code
 * etl,stats,predict,train}; {@code relayed}: those of them that read behind a relay, default none, so
 * that what all of them need may cross a WAN once; {@code message-bytes}, default 380. Results are told
 * with the query's name before them.
 */
public final class Riot {
    private static final List<String> QUERIES = List.of("etl", "stats", "predict", "train");

    private Riot() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        String all = String.join(",", QUERIES);
        Set<String> queries = named(job.arguments.text("queries", all));
        Set<String> relayed = named(job.arguments.text("relayed", ""));
        if (queries.isEmpty() || !QUERIES.containsAll(queries) || !queries.containsAll(relayed)) {
            throw new IllegalArgumentException(
                    "queries are some of " + QUERIES + ", and those relayed some of the queries; not "
                            + queries + " and " + relayed);
        }
        int bytes = job.arguments.integer("message-bytes", RiotSensors.MESSAGE_BYTES);
        DataStream<Message> messages =
                job.source("messages", new RiotSensors.Messages(bytes), Message.class);
        DataStream<Measured> parsed =
                job.atSites("parse", messages.map(new RiotQueries.Parse()));
        DataStream<Measured> handedOn =
                relayed.isEmpty()
                        ? parsed
                        : job.atSites("relay", parsed.map(measured -> measured)
                                .returns(parsed.getType()));
        List<DataStream<Answer>> answers = new ArrayList<>();
        for (String query : queries) {
            DataStream<Measured> read = relayed.contains(query) ? handedOn : parsed;
            answers.addAll(answers(query, read, job));
        }
        DataStream<Answer> first = answers.remove(0);
        String name = "Riot-" + String.join("-", queries);
        @SuppressWarnings("unchecked")
        DataStream<Answer>[] others = answers.toArray(new DataStream[0]);
        job.run(name, others.length == 0 ? first : first.union(others));
    }

    private static Set<String> named(String text) {
        Set<String> names = new TreeSet<>(Arrays.asList(text.split(",")));
        names.remove("");
        return names;
    }

    private static List<DataStream<Answer>> answers(
            String query, DataStream<Measured> parsed, HeadlineJob job) {
        switch (query) {
            case "etl":
                DataStream<Measured> ranged =
                        job.atSites("range", parsed.map(new RiotQueries.Range()));
                int stations = job.sources * RiotSensors.STATIONS_OF_A_SITE;
                DataStream<Measured> known =
                        job.atSites("known", ranged.filter(new RiotQueries.Known(stations)));
                SingleOutputStreamOperator<Measured> complete =
                        job.keyed(
                                "interpolate",
                                known.keyBy(measured -> measured.station)
                                        .process(new RiotQueries.Interpolate()));
                return List.of(job.keyed("annotate", complete.map(new RiotQueries.Annotate())));
            case "stats":
                return List.of(
                        job.keyed(
                                "average",
                                parsed.keyBy(measured -> measured.station)
                                        .process(new RiotQueries.Average())),
                        job.keyed(
                                "moment",
                                parsed.keyBy(measured -> measured.station)
                                        .process(new RiotQueries.SecondMoment())),
                        job.keyed(
                                "distinct",
                                parsed.flatMap(new RiotQueries.OneByOne())
                                        .name("fields")
                                        .uid("fields")
                                        .setParallelism(job.sources)
                                        .keyBy(value -> value.f0)
                                        .process(new RiotQueries.CountDistinct())));
            case "predict":
                return List.of(
                        job.atSites("classify", parsed.flatMap(new RiotQueries.Classify())),
                        job.keyed(
                                "regress",
                                parsed.keyBy(measured -> measured.station)
                                        .process(new RiotQueries.Regress())));
            case "train":
                int trainOf = job.arguments.integer("train-of", 50);
                SingleOutputStreamOperator<RiotQueries.Batch> collected =
                        job.keyed(
                                "collect",
                                parsed.keyBy(measured -> measured.station)
                                        .process(new RiotQueries.Gather(trainOf)));
                return List.of(job.keyed("fit", collected.map(new RiotQueries.Fit())));
            default:
                throw new IllegalArgumentException("no such query: " + query);
        }
    }

    /** What a query says. */
    public static class Answer implements Result {
        public String query;
        /** What it replaces the former answer about, empty if it stands beside all others. */
        public String about;

        public String said;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String key() {
            return about.isEmpty() ? null : query + " " + about;
        }

        @Override
        public String text() {
            return query + " " + said;
        }
    }
}
