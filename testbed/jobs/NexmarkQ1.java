package testbed.jobs;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import testbed.jobs.Nexmark.Bid;

/** Nexmark's query 1, the price of each bid in another currency: {@code bids -> euros -> sink}. */
public final class NexmarkQ1 {
    private NexmarkQ1() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        DataStream<Bid> bids = job.source("bids", new Nexmark.Bids(job.sources), Bid.class);
        job.run("NexmarkQ1", job.atSites("euros", bids.map(new ToEuros())));
    }

    public static class BidInEuros implements Result {
        public long auction;
        public long bidder;
        public long cents;
        public long timeMs;
        public String extra;

        @Override
        public long newestMs() {
            return timeMs;
        }

        @Override
        public String text() {
            return auction + " " + bidder + " " + cents;
        }
    }

    private static final class ToEuros implements MapFunction<Bid, BidInEuros> {
        private static final long serialVersionUID = 1L;

        @Override
        public BidInEuros map(Bid bid) {
            BidInEuros converted = new BidInEuros();
            converted.auction = bid.auction;
            converted.bidder = bid.bidder;
            converted.cents = bid.price * 908 / 1000;
            converted.timeMs = bid.timeMs;
            converted.extra = bid.extra;
            return converted;
        }
    }
}
