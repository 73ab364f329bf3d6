package testbed.jobs;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;
import testbed.jobs.Nexmark.Auction;
import testbed.jobs.Nexmark.Person;

/**
 * Nexmark's query 8, new persons who open an auction in the same tumbling window: {@code events ->
 * persons, auctions; both -> (HASH) -> join -> sink}. {@code persons} and {@code auctions} keep the
 * fields that are wanted.
 *
 * <p>Argument beside those of {@link HeadlineJob}: {@code window-ms}, default 2000.
 */
public final class NexmarkQ8 {
    static final long WINDOW_MS = 2000;

    private NexmarkQ8() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        TwoKinds events = new TwoKinds(job);
        long windowMs = job.arguments.whole("window-ms", WINDOW_MS);
        DataStream<Newcomer> newcomers =
                job.atSites("persons", events.persons.map(new ToNewcomer()));
        DataStream<Opening> openings =
                job.atSites("auctions", events.auctions.map(new ToOpening()));
        DataStream<NewSeller> sellers =
                job.keyed(
                        "join",
                        newcomers
                                .connect(openings)
                                .keyBy(newcomer -> newcomer.person, opening -> opening.seller)
                                .process(new JoinWindow(windowMs)));
        job.run("NexmarkQ8", sellers);
    }

    public static class Newcomer {
        public long person;
        public String name;
        public long timeMs;
    }

    public static class Opening {
        public long seller;
        public long timeMs;
    }

    /** What is known about a person in a window; a result once it has a name and an auction. */
    public static class NewSeller implements Result {
        public long person;
        public String name;
        public boolean hasAuction;
        public long endMs;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return endMs + "," + person + "," + name;
        }
    }

    private static final class ToNewcomer implements MapFunction<Person, Newcomer> {
        private static final long serialVersionUID = 1L;

        @Override
        public Newcomer map(Person person) {
            Newcomer newcomer = new Newcomer();
            newcomer.person = person.id;
            newcomer.name = person.name;
            newcomer.timeMs = person.timeMs;
            return newcomer;
        }
    }

    private static final class ToOpening implements MapFunction<Auction, Opening> {
        private static final long serialVersionUID = 1L;

        @Override
        public Opening map(Auction auction) {
            Opening opening = new Opening();
            opening.seller = auction.seller;
            opening.timeMs = auction.timeMs;
            return opening;
        }
    }

    private static final class JoinWindow
            extends KeyedCoProcessFunction<Long, Newcomer, Opening, NewSeller> {
        private static final long serialVersionUID = 1L;

        private final long windowMs;
        private transient MapState<Long, NewSeller> windows;

        JoinWindow(long windowMs) {
            this.windowMs = windowMs;
        }

        @Override
        public void open(OpenContext context) {
            windows =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>(
                                            "windows", Long.class, NewSeller.class));
        }

        @Override
        public void processElement1(Newcomer newcomer, Context context, Collector<NewSeller> out)
                throws Exception {
            NewSeller seller = inWindow(newcomer.timeMs, context);
            seller.name = newcomer.name;
            windows.put(seller.endMs, seller);
        }

        @Override
        public void processElement2(Opening opening, Context context, Collector<NewSeller> out)
                throws Exception {
            NewSeller seller = inWindow(opening.timeMs, context);
            seller.hasAuction = true;
            windows.put(seller.endMs, seller);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<NewSeller> out)
                throws Exception {
            NewSeller seller = windows.get(timestamp + 1);
            windows.remove(timestamp + 1);
            if (seller.name != null && seller.hasAuction) {
                out.collect(seller);
            }
        }

        private NewSeller inWindow(long timeMs, Context context) throws Exception {
            long endMs = (Math.floorDiv(timeMs, windowMs) + 1) * windowMs;
            NewSeller seller = windows.get(endMs);
            if (seller == null) {
                seller = new NewSeller();
                seller.person = context.getCurrentKey();
                seller.endMs = endMs;
                context.timerService().registerEventTimeTimer(endMs - 1);
            }
            seller.newestMs = Math.max(seller.newestMs, timeMs);
            return seller;
        }
    }
}
