package testbed.jobs;

import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.util.Collector;
import testbed.jobs.Nexmark.Bid;

/**
 * Nexmark's query 2, the bids on some auctions: {@code bids -> filter -> sink}.
 *
 * <p>Argument beside those of {@link HeadlineJob}: {@code every}, of so many auctions one is
 * wanted, default 123.
 */
public final class NexmarkQ2 {
    static final int EVERY = 123;

    private NexmarkQ2() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        int every = job.arguments.integer("every", EVERY);
        DataStream<Bid> bids = job.source("bids", new Nexmark.Bids(job.sources), Bid.class);
        job.run("NexmarkQ2", job.atSites("filter", bids.flatMap(new OnSome(every))));
    }

    public static class Price implements Result {
        public long auction;
        public long cents;
        public long timeMs;

        @Override
        public long newestMs() {
            return timeMs;
        }

        @Override
        public String text() {
            return auction + " " + cents;
        }
    }

    private static final class OnSome implements FlatMapFunction<Bid, Price> {
        private static final long serialVersionUID = 1L;

        private final int every;

        OnSome(int every) {
            this.every = every;
        }

        @Override
        public void flatMap(Bid bid, Collector<Price> out) {
            if (bid.auction % every != 0) {
                return;
            }
            Price price = new Price();
            price.auction = bid.auction;
            price.cents = bid.price;
            price.timeMs = bid.timeMs;
            out.collect(price);
        }
    }
}
