package dev.edgeplace.flink.split;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Merges the partials of a key for ever, and sends the new total at each of them. */
final class TotalOperator<K, A, R> extends AbstractStreamOperator<R>
        implements OneInputStreamOperator<Tuple2<K, A>, R> {
    private static final long serialVersionUID = 1L;

    private final MergeFunction<K, A, R> function;
    private final ValueStateDescriptor<A> descriptor;
    private transient ValueState<A> total;

    TotalOperator(AggregateFunction<?, A, R> function, TypeInformation<A> type) {
        this.function = new MergeFunction<>(function, null);
        descriptor = new ValueStateDescriptor<>("total", type);
    }

    @Override
    public void open() throws Exception {
        super.open();
        total = getPartitionedState(descriptor);
    }

    @Override
    public void processElement(StreamRecord<Tuple2<K, A>> partial) throws Exception {
        A before = total.value();
        A after =
                function.add(
                        partial.getValue(), before == null ? function.createAccumulator() : before);
        total.update(after);
        output.collect(partial.replace(function.getResult(after)));
    }
}
