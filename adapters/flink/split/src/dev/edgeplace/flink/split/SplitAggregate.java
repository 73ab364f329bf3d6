package dev.edgeplace.flink.split;

import java.time.Duration;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.api.java.typeutils.TypeExtractor;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.transformations.PartitionTransformation;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/**
 * A keyed aggregate whose records are combined where they are, before they are sent by key.
 *
 * <pre>{@code
 * stream.keyBy(r -> r.word).window(windows).aggregate(new Count());                // before
 * SplitAggregate.of(stream, r -> r.word).window(windows).aggregate(new Count());   // after
 * }</pre>
 *
 * <p>The results are the same, exactly once. They need an aggregate whose {@code merge} is
 * implemented. Without a window the new total of a key is sent each time a partial arrives.
 *
 * @param <T> the records
 * @param <K> their keys; as for {@code keyBy}
 */
public final class SplitAggregate<T, K> {
    private static final int DEFAULT_MOST_KEYS = 100_000;
    private static final Duration DEFAULT_DELAY = Duration.ofSeconds(1);

    /** Where a lambda names its result, if its compiler keeps that: the type of its collector. */
    private static final int[] COLLECTED = {3, 0};

    private final DataStream<T> stream;
    private final KeySelector<T, K> key;
    private final TypeInformation<K> keyType;
    private String prefix = "";
    private String uid;
    private int workers;
    private int mostKeys = DEFAULT_MOST_KEYS;
    private Duration delay;
    private WindowAssigner<Object, TimeWindow> windows;

    private SplitAggregate(
            DataStream<T> stream, KeySelector<T, K> key, TypeInformation<K> keyType) {
        this.stream = stream;
        this.key = stream.getExecutionEnvironment().clean(key);
        this.keyType = keyType;
    }

    /** Starts from what {@code stream.keyBy(key)} starts from. */
    public static <T, K> SplitAggregate<T, K> of(DataStream<T> stream, KeySelector<T, K> key) {
        return of(stream, key, TypeExtractor.getKeySelectorTypes(key, stream.getType()));
    }

    /** The same for a key whose type Flink cannot find out, as that of a lambda that is generic. */
    public static <T, K> SplitAggregate<T, K> of(
            DataStream<T> stream, KeySelector<T, K> key, TypeInformation<K> keyType) {
        return new SplitAggregate<>(stream, key, keyType);
    }

    /**
     * Names the operators, {@code NAME: combine} and so on, and gives them uids. Needed for a second
     * one with {@code spread} in a job, as a file of weights tells them apart by name.
     */
    public SplitAggregate<T, K> named(String name) {
        prefix = name + ": ";
        uid = name;
        return this;
    }

    /**
     * Combines in so many subtasks, instead of in the tasks of the stream. A router gives each of
     * them its share, by its weight in {@code KEY.shares}, whatever the keys are.
     */
    public SplitAggregate<T, K> spread(int workers) {
        if (workers < 1) {
            throw new IllegalArgumentException("spread(" + workers + "): give 1 worker or more");
        }
        this.workers = workers;
        return this;
    }

    /** Bounds the accumulators that a combining subtask keeps; default 100,000. */
    public SplitAggregate<T, K> atMostKeys(int keys) {
        if (keys < 1) {
            throw new IllegalArgumentException("atMostKeys(" + keys + "): give 1 key or more");
        }
        mostKeys = keys;
        return this;
    }

    /**
     * Sends partials after this time at the latest. Default without a window: a second. With windows
     * they are sent when their pane is complete, if nothing else is said here.
     */
    public SplitAggregate<T, K> flushEvery(Duration delay) {
        if (delay.toMillis() < 1) {
            throw new IllegalArgumentException("flushEvery(" + delay + "): give 1 ms or more");
        }
        this.delay = delay;
        return this;
    }

    /** Aggregates by {@code TumblingEventTimeWindows} or {@code SlidingEventTimeWindows}. */
    public SplitAggregate<T, K> window(WindowAssigner<Object, TimeWindow> assigner) {
        Panes.of(assigner);
        windows = assigner;
        return this;
    }

    /** Returns the results, as {@code WindowedStream.aggregate} does. */
    public <A, R> SingleOutputStreamOperator<R> aggregate(AggregateFunction<T, A, R> function) {
        return aggregate(function, accumulatorType(function), resultType(function));
    }

    /** The same with types that Flink cannot find out. */
    public <A, R> SingleOutputStreamOperator<R> aggregate(
            AggregateFunction<T, A, R> function,
            TypeInformation<A> accumulatorType,
            TypeInformation<R> resultType) {
        KeyedStream<Tuple2<K, A>, K> partials = combined(function, accumulatorType);
        if (windows == null) {
            return asMerge(
                    partials.transform(
                            "merge", resultType, new TotalOperator<>(function, accumulatorType)));
        }
        return asMerge(
                windowed(partials)
                        .aggregate(
                                merging(function, accumulatorType), accumulatorType, resultType));
    }

    /** Returns what a function makes of each result, its key and its window. */
    public <A, V, R> SingleOutputStreamOperator<R> aggregate(
            AggregateFunction<T, A, V> function, ProcessWindowFunction<V, R, K, TimeWindow> last) {
        TypeInformation<V> aggregated = resultType(function);
        TypeInformation<R> result =
                TypeExtractor.getUnaryOperatorReturnType(
                        last,
                        ProcessWindowFunction.class,
                        0,
                        1,
                        TypeExtractor.NO_INDEX,
                        aggregated,
                        null,
                        false);
        return aggregate(function, last, accumulatorType(function), aggregated, result);
    }

    /** The same with types that Flink cannot find out. */
    public <A, V, R> SingleOutputStreamOperator<R> aggregate(
            AggregateFunction<T, A, V> function,
            ProcessWindowFunction<V, R, K, TimeWindow> last,
            TypeInformation<A> accumulatorType,
            TypeInformation<V> aggregatedType,
            TypeInformation<R> resultType) {
        needWindows("ProcessWindowFunction");
        KeyedStream<Tuple2<K, A>, K> partials = combined(function, accumulatorType);
        return asMerge(
                windowed(partials)
                        .aggregate(
                                merging(function, accumulatorType),
                                last,
                                accumulatorType,
                                aggregatedType,
                                resultType));
    }

    /** Returns what a function makes of each result, its key and its window. */
    public <A, V, R> SingleOutputStreamOperator<R> aggregate(
            AggregateFunction<T, A, V> function, WindowFunction<V, R, K, TimeWindow> last) {
        TypeInformation<R> result =
                TypeExtractor.getUnaryOperatorReturnType(
                        last,
                        WindowFunction.class,
                        0,
                        1,
                        COLLECTED,
                        resultType(function),
                        null,
                        false);
        return aggregate(function, last, accumulatorType(function), result);
    }

    /** The same with types that Flink cannot find out. */
    public <A, V, R> SingleOutputStreamOperator<R> aggregate(
            AggregateFunction<T, A, V> function,
            WindowFunction<V, R, K, TimeWindow> last,
            TypeInformation<A> accumulatorType,
            TypeInformation<R> resultType) {
        needWindows("WindowFunction");
        KeyedStream<Tuple2<K, A>, K> partials = combined(function, accumulatorType);
        return asMerge(
                windowed(partials)
                        .aggregate(
                                merging(function, accumulatorType),
                                last,
                                accumulatorType,
                                resultType));
    }

    private void needWindows(String last) {
        if (windows == null) {
            throw new IllegalArgumentException(
                    "a " + last + " needs windows: call window(...) before aggregate(...)");
        }
    }

    private <A> KeyedStream<Tuple2<K, A>, K> combined(
            AggregateFunction<T, A, ?> function, TypeInformation<A> accumulatorType) {
        Mergeable.check(function);
        long delayMs = (delay == null && windows == null ? DEFAULT_DELAY : orNever()).toMillis();
        CombineFactory<T, K, A> combine =
                new CombineFactory<>(
                        key,
                        serializer(keyType),
                        stream.getExecutionEnvironment().clean(function),
                        windows == null ? Panes.ONE : Panes.of(windows),
                        mostKeys,
                        delayMs);
        TypeInformation<Tuple2<K, A>> type = new TupleTypeInfo<>(keyType, accumulatorType);
        SingleOutputStreamOperator<Tuple2<K, A>> partials =
                workers == 0
                        ? stream.transform(prefix + "combine", type, combine)
                                .setParallelism(stream.getParallelism())
                        : routed()
                                .transform(prefix + "combine", type, combine)
                                .setParallelism(workers);
        return withUid(partials, "combine").keyBy(new FirstField<>(), keyType);
    }

    private DataStream<T> routed() {
        RouteFactory<T, K> route = new RouteFactory<>(key, workers, prefix + "combine");
        DataStream<T> routers =
                withUid(
                        stream.transform(prefix + "route", stream.getType(), route)
                                .setParallelism(stream.getParallelism()),
                        "route");
        return new DataStream<>(
                stream.getExecutionEnvironment(),
                new PartitionTransformation<>(routers.getTransformation(), new ToLane<>()));
    }

    private Duration orNever() {
        return delay == null ? Duration.ZERO : delay;
    }

    private <A> WindowedStream<Tuple2<K, A>, K, TimeWindow> windowed(
            KeyedStream<Tuple2<K, A>, K> partials) {
        return partials.window(windows);
    }

    private <A, R> MergeFunction<K, A, R> merging(
            AggregateFunction<T, A, R> function, TypeInformation<A> accumulatorType) {
        // Each window gets a partial of its own, if a pane belongs to several.
        boolean isShared = Panes.of(windows).areShared();
        return new MergeFunction<>(function, isShared ? serializer(accumulatorType) : null);
    }

    private <R> SingleOutputStreamOperator<R> asMerge(SingleOutputStreamOperator<R> merged) {
        return withUid(merged.name(prefix + "merge"), "merge");
    }

    private <R> SingleOutputStreamOperator<R> withUid(
            SingleOutputStreamOperator<R> operator, String step) {
        return uid == null ? operator : operator.uid(uid + "-" + step);
    }

    private <A> TypeInformation<A> accumulatorType(AggregateFunction<T, A, ?> function) {
        return TypeExtractor.getAggregateFunctionAccumulatorType(
                function, stream.getType(), null, false);
    }

    private <R> TypeInformation<R> resultType(AggregateFunction<T, ?, R> function) {
        return TypeExtractor.getAggregateFunctionReturnType(
                function, stream.getType(), null, false);
    }

    /** {@code TypeInformation.createSerializer} has another parameter in Flink 2. */
    private <V> TypeSerializer<V> serializer(TypeInformation<V> type) {
        ValueStateDescriptor<V> holder = new ValueStateDescriptor<>("serializer", type);
        holder.initializeSerializerUnlessSet(stream.getExecutionConfig());
        return holder.getSerializer();
    }

    private static final class FirstField<K, A> implements KeySelector<Tuple2<K, A>, K> {
        private static final long serialVersionUID = 1L;

        @Override
        public K getKey(Tuple2<K, A> partial) {
            return partial.f0;
        }
    }
}
