package dev.edgeplace.flink.split;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;

/** The user's aggregate, of partials instead of records. */
final class MergeFunction<K, A, R> implements AggregateFunction<Tuple2<K, A>, A, R> {
    private static final long serialVersionUID = 1L;

    private final AggregateFunction<?, A, R> function;
    /** Copies a partial that goes to several windows, since {@code merge} may keep it; or null. */
    private final TypeSerializer<A> copier;

    MergeFunction(AggregateFunction<?, A, R> function, TypeSerializer<A> copier) {
        this.function = function;
        this.copier = copier;
    }

    @Override
    public A createAccumulator() {
        return function.createAccumulator();
    }

    @Override
    public A add(Tuple2<K, A> partial, A accumulator) {
        A own = copier == null ? partial.f1 : copier.copy(partial.f1);
        return merge(accumulator, own);
    }

    @Override
    public R getResult(A accumulator) {
        return function.getResult(accumulator);
    }

    @Override
    public A merge(A a, A b) {
        return Mergeable.notNull(function.merge(a, b), function.getClass().getName());
    }
}
