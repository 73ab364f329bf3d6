package testbed.jobs;

import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import testbed.jobs.Nexmark.Bid;

/**
 * Nexmark's query 11, how many bids a bidder makes until a pause: {@code bids -> project -> (HASH)
 * -> sessions -> sink}. {@code project} keeps the fields that are wanted.
 *
 * <p>Argument beside those of {@link HeadlineJob}: {@code gap-ms}, default 1000, the pause.
 */
public final class NexmarkQ11 {
    static final long GAP_MS = 1000;

    private NexmarkQ11() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        Duration gap = Duration.ofMillis(job.arguments.whole("gap-ms", GAP_MS));
        DataStream<Bid> bids = job.source("bids", new Nexmark.Bids(job.sources), Bid.class);
        DataStream<Bidding> biddings = job.atSites("project", bids.map(new ToBidding()));
        DataStream<Session> sessions =
                job.keyed(
                        "sessions",
                        biddings.keyBy(bidding -> bidding.bidder)
                                .window(EventTimeSessionWindows.withGap(gap))
                                .aggregate(new Count(), new AtWindow()));
        job.run("NexmarkQ11", sessions);
    }

    public static class Bidding {
        public long bidder;
        public long timeMs;
    }

    public static class Session implements Result {
        public long bidder;
        public long startMs;
        public long bids;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return bidder + " " + startMs + " " + bids;
        }
    }

    private static final class ToBidding implements MapFunction<Bid, Bidding> {
        private static final long serialVersionUID = 1L;

        @Override
        public Bidding map(Bid bid) {
            Bidding bidding = new Bidding();
            bidding.bidder = bid.bidder;
            bidding.timeMs = bid.timeMs;
            return bidding;
        }
    }

    private static final class Count implements AggregateFunction<Bidding, Session, Session> {
        private static final long serialVersionUID = 1L;

        @Override
        public Session createAccumulator() {
            return new Session();
        }

        @Override
        public Session add(Bidding bidding, Session session) {
            session.bids++;
            session.newestMs = Math.max(session.newestMs, bidding.timeMs);
            return session;
        }

        @Override
        public Session getResult(Session session) {
            return session;
        }

        @Override
        public Session merge(Session left, Session right) {
            left.bids += right.bids;
            left.newestMs = Math.max(left.newestMs, right.newestMs);
            return left;
        }
    }

    private static final class AtWindow
            implements WindowFunction<Session, Session, Long, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void apply(
                Long bidder,
                TimeWindow window,
                Iterable<Session> sessions,
                Collector<Session> out) {
            for (Session session : sessions) {
                session.bidder = bidder;
                session.startMs = window.getStart();
                out.collect(session);
            }
        }
    }
}
