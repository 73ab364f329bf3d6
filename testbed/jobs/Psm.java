package testbed.jobs;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import testbed.jobs.PriceSearch.Click;
import testbed.jobs.PriceSearch.Impression;
import testbed.jobs.PriceSearch.Search;

/**
 * Five queries about a price search machine, whose windows keep all records: {@code events -> clicks,
 * impressions, searches -> (HASH) -> five queries -> sink}.
 *
 * <ul>
 *   <li>{@code best-category}: the categories with most clicks of each owner in 10 minutes
 *   <li>{@code product-cost}: the median cost of the last clicks on a product, at every so many
 *   <li>{@code owner-cost}: the median cost of an owner's clicks in a minute
 *   <li>{@code impressions-to-clicks}: of each product in 5 minutes, at each minute
 *   <li>{@code searches-to-clicks}: of each product in a minute
 * </ul>
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code minute-ms}, default 1000, so that a run
 * need not last for long; {@code last-clicks}, default 100, and {@code every-clicks}, default 10.
 */
public final class Psm {
    private Psm() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        long minuteMs = job.arguments.whole("minute-ms", 1000);
        int lastClicks = job.arguments.integer("last-clicks", 100);
        int everyClicks = job.arguments.integer("every-clicks", 10);
        Duration minute = Duration.ofMillis(minuteMs);
        PriceSearch seen = new PriceSearch(job);
        DataStream<Answer> bestCategory =
                job.keyed(
                        "best-category",
                        seen.clicks
                                .keyBy(click -> click.owner)
                                .window(TumblingEventTimeWindows.of(minute.multipliedBy(10)))
                                .apply(new BestCategory()));
        DataStream<Answer> productCost =
                job.keyed(
                        "product-cost",
                        seen.clicks
                                .keyBy(click -> click.product)
                                .countWindow(lastClicks, everyClicks)
                                .apply(new ProductCost()));
        DataStream<Answer> ownerCost =
                job.keyed(
                        "owner-cost",
                        seen.clicks
                                .keyBy(click -> click.owner)
                                .window(TumblingEventTimeWindows.of(minute))
                                .apply(new OwnerCost()));
        DataStream<Answer> impressions =
                seen.clicks
                        .coGroup(seen.impressions)
                        .where(click -> click.product)
                        .equalTo(impression -> impression.product)
                        .window(SlidingEventTimeWindows.of(minute.multipliedBy(5), minute))
                        .apply(new ImpressionsToClicks());
        DataStream<Answer> searches =
                seen.clicks
                        .coGroup(seen.searches)
                        .where(click -> click.product)
                        .equalTo(search -> search.product)
                        .window(TumblingEventTimeWindows.of(minute))
                        .apply(new SearchesToClicks());
        job.run(
                "Psm",
                bestCategory.union(
                        productCost,
                        ownerCost,
                        coGrouped(job, "impressions-to-clicks", impressions),
                        coGrouped(job, "searches-to-clicks", searches)));
    }

    /** Before Flink 2.0, a co-group's type did not say that it is an operator. */
    private static SingleOutputStreamOperator<Answer> coGrouped(
            HeadlineJob job, String name, DataStream<Answer> answers) {
        return job.keyed(name, (SingleOutputStreamOperator<Answer>) answers);
    }

    public static class Answer implements Result {
        public String text;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String text() {
            return text;
        }
    }

    private static Answer answer(long newestMs, Object... words) {
        Answer answer = new Answer();
        StringBuilder text = new StringBuilder();
        for (Object word : words) {
            text.append(text.length() == 0 ? "" : " ").append(word);
        }
        answer.text = text.toString();
        answer.newestMs = newestMs;
        return answer;
    }

    /** The lower of two in the middle. */
    private static long medianCost(List<Long> costs) {
        Collections.sort(costs);
        return costs.get((costs.size() - 1) / 2);
    }

    private static final class BestCategory
            implements WindowFunction<Click, Answer, String, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void apply(
                String owner, TimeWindow window, Iterable<Click> clicks, Collector<Answer> out) {
            TreeMap<String, Long> counts = new TreeMap<>();
            long newestMs = 0;
            for (Click click : clicks) {
                counts.merge(click.category, 1L, Long::sum);
                newestMs = Math.max(newestMs, click.timeMs);
            }
            long most = Collections.max(counts.values());
            for (String category : counts.keySet()) {
                if (counts.get(category) == most) {
                    out.collect(answer(newestMs, "1", window.getEnd(), owner, category, most));
                }
            }
        }
    }

    private static final class ProductCost
            implements WindowFunction<Click, Answer, String, GlobalWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void apply(
                String product,
                GlobalWindow window,
                Iterable<Click> clicks,
                Collector<Answer> out) {
            List<Long> costs = new ArrayList<>();
            long newestMs = 0;
            for (Click click : clicks) {
                costs.add(click.cost);
                newestMs = Math.max(newestMs, click.timeMs);
            }
            out.collect(answer(newestMs, "2", newestMs, product, medianCost(costs)));
        }
    }

    private static final class OwnerCost
            implements WindowFunction<Click, Answer, String, TimeWindow> {
        private static final long serialVersionUID = 1L;

        @Override
        public void apply(
                String owner, TimeWindow window, Iterable<Click> clicks, Collector<Answer> out) {
            List<Long> costs = new ArrayList<>();
            long newestMs = 0;
            for (Click click : clicks) {
                costs.add(click.cost);
                newestMs = Math.max(newestMs, click.timeMs);
            }
            out.collect(answer(newestMs, "3", window.getEnd(), owner, medianCost(costs)));
        }
    }

    private static final class ImpressionsToClicks
            implements CoGroupFunction<Click, Impression, Answer> {
        private static final long serialVersionUID = 1L;

        @Override
        public void coGroup(
                Iterable<Click> clicks, Iterable<Impression> impressions, Collector<Answer> out) {
            Ratio ratio = new Ratio(clicks);
            for (Impression impression : impressions) {
                ratio.add(impression.timeMs);
            }
            ratio.tell("4", out);
        }
    }

    private static final class SearchesToClicks
            implements CoGroupFunction<Click, Search, Answer> {
        private static final long serialVersionUID = 1L;

        @Override
        public void coGroup(
                Iterable<Click> clicks, Iterable<Search> searches, Collector<Answer> out) {
            Ratio ratio = new Ratio(clicks);
            for (Search search : searches) {
                ratio.add(search.timeMs);
            }
            ratio.tell("5", out);
        }
    }

    /** Something per click on a product in a window; nothing where there was no click. */
    private static final class Ratio {
        private String product;
        private long clicks;
        private long others;
        private long newestMs;

        Ratio(Iterable<Click> all) {
            for (Click click : all) {
                product = click.product;
                clicks++;
                newestMs = Math.max(newestMs, click.timeMs);
            }
        }

        void add(long timeMs) {
            others++;
            newestMs = Math.max(newestMs, timeMs);
        }

        void tell(String query, Collector<Answer> out) {
            if (clicks > 0) {
                out.collect(answer(newestMs, query, product, others, clicks));
            }
        }
    }
}
