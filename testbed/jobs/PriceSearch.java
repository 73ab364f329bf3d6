package testbed.jobs;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * What a price search machine sees: a click or an impression of a product, and beside each of them a
 * search. So a click comes as often as an impression, and a search as often as both.
 *
 * <p>Each product is looked at from one site, so that its clicks have an order.
 */
final class PriceSearch {
    static final int PRODUCTS = 2000;
    private static final int OWNERS = 100;
    private static final int CATEGORIES = 20;
    private static final int RANKS = 200;
    // Ten thousandths of the currency: a click costs from 0.2 to less than 0.7.
    private static final int LEAST_COST = 2000;
    private static final int COSTS = 5000;

    private static final OutputTag<Impression> IMPRESSIONS =
            new OutputTag<>("impressions", TypeInformation.of(Impression.class));
    private static final OutputTag<Search> SEARCHES =
            new OutputTag<>("searches", TypeInformation.of(Search.class));

    final SingleOutputStreamOperator<Click> clicks;
    final SingleOutputStreamOperator<Impression> impressions;
    final SingleOutputStreamOperator<Search> searches;

    /** The three kinds from one source, so that they keep their proportion at any rate. */
    PriceSearch(HeadlineJob job) {
        SingleOutputStreamOperator<Click> all =
                job.source("events", new Events(job.sources), Event.class)
                        .process(new Part())
                        .name("part")
                        .uid("part")
                        .setParallelism(job.sources);
        clicks = topic("clicks", all, job);
        impressions = topic("impressions", all.getSideOutput(IMPRESSIONS), job);
        searches = topic("searches", all.getSideOutput(SEARCHES), job);
    }

    /** A job vertex that hands on one kind to all queries about it, as a topic would. */
    private static <T> SingleOutputStreamOperator<T> topic(
            String name, DataStream<T> kind, HeadlineJob job) {
        return kind.map(record -> record)
                .returns(kind.getType())
                .name(name)
                .uid(name)
                .setParallelism(job.sources)
                .startNewChain();
    }

    public static class Click {
        public String product;
        public String category;
        public String owner;
        public long cost;
        public long timeMs;
    }

    public static class Impression {
        public String product;
        public String category;
        public long timeMs;
    }

    public static class Search {
        public String product;
        public String category;
        public int rank;
        public long timeMs;
    }

    /** One of the three; the others are null. */
    public static class Event {
        public Click click;
        public Impression impression;
        public Search search;
    }

    static final class Events implements Recipe<Event> {
        private static final long serialVersionUID = 1L;

        private final int sites;

        Events(int sites) {
            this.sites = sites;
        }

        @Override
        public Event make(int site, long number, long timeMs) {
            long dice = Mix.of(site, number);
            int product = Mix.below(PRODUCTS / sites, dice) * sites + site;
            dice = Mix.mix(dice);
            Event event = new Event();
            if (number % 2 == 1) {
                event.search = new Search();
                event.search.product = name("product", product);
                event.search.category = name("category", product % CATEGORIES);
                event.search.rank = Mix.below(RANKS, dice);
                event.search.timeMs = timeMs;
            } else if (Mix.unit(dice) < 0.5) {
                event.click = new Click();
                event.click.product = name("product", product);
                event.click.category = name("category", product % CATEGORIES);
                event.click.owner = name("owner", product % OWNERS);
                event.click.cost = LEAST_COST + Mix.below(COSTS, Mix.mix(dice));
                event.click.timeMs = timeMs;
            } else {
                event.impression = new Impression();
                event.impression.product = name("product", product);
                event.impression.category = name("category", product % CATEGORIES);
                event.impression.timeMs = timeMs;
            }
            return event;
        }

        private static String name(String kind, int number) {
            return kind + "-" + number;
        }
    }

    private static final class Part extends ProcessFunction<Event, Click> {
        private static final long serialVersionUID = 1L;

        @Override
        public void processElement(Event event, Context context, Collector<Click> out) {
            if (event.click != null) {
                out.collect(event.click);
            } else if (event.impression != null) {
                context.output(IMPRESSIONS, event.impression);
            } else {
                context.output(SEARCHES, event.search);
            }
        }
    }
}
