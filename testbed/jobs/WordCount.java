package testbed.jobs;

import java.util.Map;
import java.util.StringTokenizer;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * How often each word has been said: {@code sentences -> combine -> (HASH) -> count -> sink}.
 * {@code combine} counts within a site; {@code count} tells the new total at each partial count.
 *
 * <p>Arguments beside those of {@link HeadlineJob}: {@code flush-records}, default 20000, and
 * {@code flush-ms}, default 1000, see {@link Combine}.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        int flushRecords = job.arguments.integer("flush-records", 20_000);
        long flushMs = job.arguments.whole("flush-ms", 1000);
        DataStream<Sentence> sentences = job.source("sentences", new Sentences(), Sentence.class);
        DataStream<Count> partial =
                job.atSites(
                        "combine",
                        sentences.transform(
                                "combine",
                                TypeInformation.of(Count.class),
                                new CombineWords(flushRecords, flushMs)));
        DataStream<Count> totals =
                job.keyed("count", partial.keyBy(count -> count.word).process(new Total()));
        job.run("WordCount", totals);
    }

    public static class Sentence {
        public String text;
        public long timeMs;
    }

    public static class Count implements Result {
        public String word;
        public long count;
        public long newestMs;

        @Override
        public long newestMs() {
            return newestMs;
        }

        @Override
        public String key() {
            return word;
        }

        @Override
        public String text() {
            return word + " " + count;
        }
    }

    /** Ten words each: the n-th of a thousand words is about 1/n as frequent as the first. */
    static final class Sentences implements Recipe<Sentence> {
        private static final long serialVersionUID = 1L;
        private static final int LENGTH = 10;
        private static final String[] WORDS = words();
        private static final int[] RANKS = ranks();

        private static String[] words() {
            String[] words = new String[1000];
            for (int i = 0; i < words.length; i++) {
                // Of three to nine letters, and unlike each other by the number in them.
                String letters = Long.toString(Mix.mix(i) >>> 1, 36);
                words[i] = Integer.toString(i, 36) + letters.substring(0, 2 + i % 6);
            }
            return words;
        }

        /** The rank at each of many equally likely places: the logarithm of the rank is even. */
        private static int[] ranks() {
            int[] ranks = new int[1 << 14];
            for (int i = 0; i < ranks.length; i++) {
                double place = (i + 0.5) / ranks.length;
                ranks[i] = (int) StrictMath.pow(WORDS.length, place) - 1;
            }
            return ranks;
        }

        @Override
        public Sentence make(int site, long number, long timeMs) {
            long dice = Mix.of(site, number);
            StringBuilder text = new StringBuilder(LENGTH * 7);
            for (int i = 0; i < LENGTH; i++) {
                dice = Mix.mix(dice);
                String word = WORDS[RANKS[Mix.below(RANKS.length, dice)]];
                text.append(i == 0 ? "" : " ").append(word);
            }
            Sentence sentence = new Sentence();
            sentence.text = text.toString();
            sentence.timeMs = timeMs;
            return sentence;
        }
    }

    private static final class CombineWords extends Combine<Sentence, String, Count> {
        private static final long serialVersionUID = 1L;

        CombineWords(int flushRecords, long flushMs) {
            super(flushRecords, flushMs);
        }

        @Override
        protected void fold(Sentence sentence, Map<String, Count> partials) {
            StringTokenizer words = new StringTokenizer(sentence.text);
            while (words.hasMoreTokens()) {
                String word = words.nextToken();
                Count count = partials.get(word);
                if (count == null) {
                    count = new Count();
                    count.word = word;
                    partials.put(word, count);
                }
                count.count++;
                count.newestMs = Math.max(count.newestMs, sentence.timeMs);
            }
        }
    }

    private static final class Total extends KeyedProcessFunction<String, Count, Count> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<Long> total;

        @Override
        public void open(OpenContext context) {
            total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Long.class));
        }

        @Override
        public void processElement(Count partial, Context context, Collector<Count> out)
                throws Exception {
            Long before = total.value();
            Count sum = new Count();
            sum.word = partial.word;
            sum.count = partial.count + (before == null ? 0 : before);
            sum.newestMs = partial.newestMs;
            total.update(sum.count);
            out.collect(sum);
        }
    }
}
