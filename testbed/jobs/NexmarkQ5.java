package testbed.jobs;

import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import testbed.jobs.Nexmark.Bid;

/**
 * Nexmark's query 5, the auction with most bids in a sliding window: {@code bids -> combine ->
 * (HASH) -> count -> hottest -> sink}. {@code combine} counts the bids that one site has on an
 * auction in one slide, and of auctions with equally many bids the one with the lowest id wins.
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code window-ms}, default 4000, a multiple of
 * {@code slide-ms}, default 1000.
 */
public final class NexmarkQ5 {
    static final long WINDOW_MS = 4000;
    static final long SLIDE_MS = 1000;

    private NexmarkQ5() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        long windowMs = job.arguments.whole("window-ms", WINDOW_MS);
        long slideMs = job.arguments.whole("slide-ms", SLIDE_MS);
        if (windowMs % slideMs != 0) {
            throw new IllegalArgumentException(
                    "window-ms " + windowMs + " is no multiple of slide-ms " + slideMs);
        }
        Duration slide = Duration.ofMillis(slideMs);
        DataStream<Bid> bids = job.source("bids", new Nexmark.Bids(job.sources), Bid.class);
        DataStream<Count> partial =
                job.atSites(
                        "combine",
                        bids.transform(
                                "combine",
                                TypeInformation.of(Count.class),
                                new CombineSlide(slideMs)));
        DataStream<Count> counts =
                job.keyed(
                        "count",
                        partial.keyBy(count -> count.auction)
                                .window(
                                        SlidingEventTimeWindows.of(
                                                Duration.ofMillis(windowMs), slide))
                                .aggregate(new Sum(), new AtWindow()));
        DataStream<Count> hottest =
                job.single(
                        "hottest",
                        counts.keyBy(count -> count.endMs)
                                // All counts of a window carry its last millisecond as their time.
                                .window(TumblingEventTimeWindows.of(slide))
                                .reduce(new Hotter()));
        job.run("NexmarkQ5", hottest);
    }

    /** Bids on an auction until the end of a slide or a window. */
    public static class Count implements Result {
        public long auction;
        public long endMs;
        public long bids;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return endMs + " " + auction + " " + bids;
        }
    }

    private static final class CombineSlide extends Combine<Bid, Long, Count> {
        private static final long serialVersionUID = 1L;
        // Slides end by event time: these are for a source that is slow or has far too many keys.
        private static final int FLUSH_RECORDS = 1_000_000;
        private static final long FLUSH_MS = 5_000;

        private final long slideMs;
        private transient long slidesDone;

        CombineSlide(long slideMs) {
            super(FLUSH_RECORDS, FLUSH_MS);
            this.slideMs = slideMs;
        }

        @Override
        protected void fold(Bid bid, Map<Long, Count> partials) {
            long slide = bid.timeMs / slideMs;
            long key = slide * Nexmark.AUCTIONS + bid.auction % Nexmark.AUCTIONS;
            Count count = partials.get(key);
            if (count == null) {
                count = new Count();
                count.auction = bid.auction;
                count.endMs = (slide + 1) * slideMs;
                partials.put(key, count);
            }
            count.bids++;
            count.newestMs = Math.max(count.newestMs, bid.timeMs);
        }

        @Override
        protected StreamRecord<Count> finished(Count count) {
            return new StreamRecord<>(count, count.endMs - 1);
        }

        /** What belongs to a slide goes on before the watermark that ends it. */
        @Override
        public void processWatermark(Watermark mark) throws Exception {
            // Written so that the last watermark, the largest of all numbers, does not overflow.
            long done = Math.floorDiv(mark.getTimestamp() - slideMs + 1, slideMs);
            if (done != slidesDone) {
                slidesDone = done;
                flush();
            }
            super.processWatermark(mark);
        }
    }

    private static final class Sum implements AggregateFunction<Count, Count, Count> {
        private static final long serialVersionUID = 1L;

        @Override
        public Count createAccumulator() {
            return new Count();
        }

        @Override
        public Count add(Count more, Count sum) {
            sum.auction = more.auction;
            sum.bids += more.bids;
            sum.newestMs = Math.max(sum.newestMs, more.newestMs);
            return sum;
        }

        @Override
        public Count getResult(Count sum) {
            return sum;
        }

        @Override
        public Count merge(Count left, Count right) {
            return add(left, right);
        }
    }

    private static final class AtWindow implements WindowFunction<Count, Count, Long, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void apply(
                Long auction, TimeWindow window, Iterable<Count> sums, Collector<Count> out) {
            for (Count sum : sums) {
                sum.endMs = window.getEnd();
                out.collect(sum);
            }
        }
    }

    private static final class Hotter implements ReduceFunction<Count> {
        private static final long serialVersionUID = 1L;

        @Override
        public Count reduce(Count left, Count right) {
            boolean leftWins =
                    left.bids > right.bids
                            || left.bids == right.bids && left.auction < right.auction;
            Count hotter = new Count();
            hotter.auction = leftWins ? left.auction : right.auction;
            hotter.bids = leftWins ? left.bids : right.bids;
            hotter.endMs = left.endMs;
            hotter.newestMs = Math.max(left.newestMs, right.newestMs);
            return hotter;
        }
    }
}
