package testbed.jobs;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;
import testbed.jobs.Nexmark.Auction;
import testbed.jobs.Nexmark.Person;

/**
 * Nexmark's query 3, who in some states sells in one category: {@code events -> persons, auctions;
 * both -> (HASH) -> join -> sink}. {@code persons} and {@code auctions} keep what is wanted, and of
 * that the fields that are wanted.
 *
 * <p>The join is incremental: an auction finds its seller at once or waits, for at least {@code
 * wait-ms} of event time, default 10000, and less than twice that: nothing else would end the wait
 * for a seller from another state.
 */
public final class NexmarkQ3 {
    static final int CATEGORY = 10;
    static final Set<String> STATES = Set.of("OR", "ID", "CA");

    private NexmarkQ3() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        TwoKinds events = new TwoKinds(job);
        long waitMs = job.arguments.whole("wait-ms", 10_000);
        DataStream<Seller> sellers =
                job.atSites("persons", events.persons.flatMap(new FromStates()));
        DataStream<Offer> offers =
                job.atSites("auctions", events.auctions.flatMap(new InCategory()));
        DataStream<Match> matches =
                job.keyed(
                        "join",
                        sellers.connect(offers)
                                .keyBy(seller -> seller.id, offer -> offer.seller)
                                .process(new Join(waitMs)));
        job.run("NexmarkQ3", matches);
    }

    public static class Seller {
        public long id;
        public String name;
        public String city;
        public String state;
        public long timeMs;
    }

    public static class Offer {
        public long auction;
        public long seller;
        public long timeMs;
    }

    public static class Match implements Result {
        public String name;
        public String city;
        public String state;
        public long auction;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return name + "," + city + "," + state + "," + auction;
        }
    }

    private static final class FromStates implements FlatMapFunction<Person, Seller> {
        private static final long serialVersionUID = 1L;

        @Override
        public void flatMap(Person person, Collector<Seller> out) {
            if (!STATES.contains(person.state)) {
                return;
            }
            Seller seller = new Seller();
            seller.id = person.id;
            seller.name = person.name;
            seller.city = person.city;
            seller.state = person.state;
            seller.timeMs = person.timeMs;
            out.collect(seller);
        }
    }

    private static final class InCategory implements FlatMapFunction<Auction, Offer> {
        private static final long serialVersionUID = 1L;

        @Override
        public void flatMap(Auction auction, Collector<Offer> out) {
            if (auction.category != CATEGORY) {
                return;
            }
            Offer offer = new Offer();
            offer.auction = auction.id;
            offer.seller = auction.seller;
            offer.timeMs = auction.timeMs;
            out.collect(offer);
        }
    }

    private static final class Join extends KeyedCoProcessFunction<Long, Seller, Offer, Match> {
        private static final long serialVersionUID = 1L;

        private final long waitMs;
        private transient ValueState<Seller> known;
        private transient ListState<Offer> waiting;

        Join(long waitMs) {
            this.waitMs = waitMs;
        }

        @Override
        public void open(OpenContext context) {
            known = getRuntimeContext().getState(new ValueStateDescriptor<>("known", Seller.class));
            waiting =
                    getRuntimeContext()
                            .getListState(new ListStateDescriptor<>("waiting", Offer.class));
        }

        @Override
        public void processElement1(Seller seller, Context context, Collector<Match> out)
                throws Exception {
            known.update(seller);
            for (Offer offer : waiting.get()) {
                out.collect(match(seller, offer));
            }
            waiting.clear();
        }

        @Override
        public void processElement2(Offer offer, Context context, Collector<Match> out)
                throws Exception {
            Seller seller = known.value();
            if (seller != null) {
                out.collect(match(seller, offer));
                return;
            }
            waiting.add(offer);
            // In whole waits, so that a seller has few timers however many auctions wait.
            long waits = Math.floorDiv(offer.timeMs, waitMs) + 2;
            context.timerService().registerEventTimeTimer(waits * waitMs);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<Match> out)
                throws Exception {
            List<Offer> younger = new ArrayList<>();
            for (Offer offer : waiting.get()) {
                if (offer.timeMs > timestamp - waitMs) {
                    younger.add(offer);
                }
            }
            waiting.update(younger);
        }

        private static Match match(Seller seller, Offer offer) {
            Match match = new Match();
            match.name = seller.name;
            match.city = seller.city;
            match.state = seller.state;
            match.auction = offer.auction;
            match.newestMs = Math.max(seller.timeMs, offer.timeMs);
            return match;
        }
    }
}
