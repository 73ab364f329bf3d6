package dev.edgeplace.flink.split;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.ChainingStrategy;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;

/** Makes {@link CombineOperator}s, in the task of their input if they can be there. */
final class CombineFactory<T, K, A> extends AbstractStreamOperatorFactory<Tuple2<K, A>>
        implements OneInputStreamOperatorFactory<T, Tuple2<K, A>> {
    private static final long serialVersionUID = 1L;

    private final KeySelector<T, K> key;
    private final TypeSerializer<K> keySerializer;
    private final AggregateFunction<T, A, ?> function;
    private final Panes panes;
    private final int mostKeys;
    private final long delayMs;

    CombineFactory(
            KeySelector<T, K> key,
            TypeSerializer<K> keySerializer,
            AggregateFunction<T, A, ?> function,
            Panes panes,
            int mostKeys,
            long delayMs) {
        this.key = key;
        this.keySerializer = keySerializer;
        this.function = function;
        this.panes = panes;
        this.mostKeys = mostKeys;
        this.delayMs = delayMs;
        chainingStrategy = ChainingStrategy.ALWAYS;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <S extends StreamOperator<Tuple2<K, A>>> S createStreamOperator(
            StreamOperatorParameters<Tuple2<K, A>> parameters) {
        return (S)
                new CombineOperator<>(
                        parameters, key, keySerializer, function, panes, mostKeys, delayMs);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
        return CombineOperator.class;
    }
}
