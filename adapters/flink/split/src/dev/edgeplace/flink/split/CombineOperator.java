package dev.edgeplace.flink.split;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;

/**
 * Adds each record to the accumulator of its key and pane, and sends the accumulators on as partials.
 *
 * <p>Partials are sent before a watermark passes the end of their pane, when there are too many,
 * when some time has passed, and before each barrier of a checkpoint. So a checkpoint has nothing to
 * store, and each record is in exactly one partial.
 */
final class CombineOperator<T, K, A> extends AbstractStreamOperator<Tuple2<K, A>>
        implements OneInputStreamOperator<T, Tuple2<K, A>> {
    private static final long serialVersionUID = 1L;
    private static final long NO_TIME = Long.MIN_VALUE;

    private final KeySelector<T, K> key;
    private final TypeSerializer<K> keySerializer;
    private final AggregateFunction<T, A, ?> function;
    private final Panes panes;
    private final int mostKeys;
    private final long delayMs;
    private final transient ProcessingTimeService clock;
    /** By the time of the last record that a pane can have. */
    private final transient TreeMap<Long, Pane<K, A>> open = new TreeMap<>();
    private transient Pane<K, A> current;
    private transient int kept;
    private transient Worth worth;
    private transient boolean reusesObjects;

    CombineOperator(
            StreamOperatorParameters<Tuple2<K, A>> parameters,
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
        clock = parameters.getProcessingTimeService();
        setup(
                parameters.getContainingTask(),
                parameters.getStreamConfig(),
                parameters.getOutput());
    }

    @Override
    public void open() throws Exception {
        super.open();
        worth = new Worth(getMetricGroup());
        reusesObjects = getExecutionConfig().isObjectReuseEnabled();
        if (delayMs > 0) {
            clock.scheduleAtFixedRate(now -> flush(), delayMs, delayMs);
        }
    }

    @Override
    public void processElement(StreamRecord<T> element) throws Exception {
        T record = element.getValue();
        K of = key.getKey(record);
        if (of == null) {
            throw new IllegalArgumentException(
                    "the key selector returned null for a record: Flink has no null keys. Filter such"
                            + " records out, or give them a key of their own");
        }
        if (!worth.combines()) {
            send(of, function.add(record, function.createAccumulator()), timeOf(element));
            return;
        }
        Pane<K, A> pane = paneOf(element);
        A before = pane.accumulators.get(of);
        if (before != null) {
            A after = function.add(record, before);
            if (after != before) {
                pane.accumulators.put(of, after);
            }
        } else {
            K own = reusesObjects ? keySerializer.copy(of) : of;
            pane.accumulators.put(own, function.add(record, function.createAccumulator()));
            kept++;
        }
        worth.added();
        if (kept >= mostKeys) {
            flush();
        }
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        while (!open.isEmpty() && open.firstKey() <= mark.getTimestamp()) {
            send(open.pollFirstEntry().getValue());
        }
        current = null;
        super.processWatermark(mark);
    }

    @Override
    public void prepareSnapshotPreBarrier(long checkpointId) throws Exception {
        flush();
        super.prepareSnapshotPreBarrier(checkpointId);
    }

    @Override
    public void finish() throws Exception {
        flush();
        super.finish();
    }

    private Pane<K, A> paneOf(StreamRecord<T> element) {
        long time = timeOf(element);
        if (current != null && current.has(time)) {
            current.newest = Math.max(current.newest, time);
            return current;
        }
        long last = panes.areTimed() ? panes.end(time) - 1 : Long.MAX_VALUE;
        current = open.get(last);
        if (current == null) {
            long first = panes.areTimed() ? panes.start(time) : Long.MIN_VALUE;
            current = new Pane<>(first, last, time);
            open.put(last, current);
        }
        current.newest = Math.max(current.newest, time);
        return current;
    }

    private long timeOf(StreamRecord<T> element) {
        // The smallest time is what Flink takes for none.
        boolean isTimed = element.hasTimestamp() && element.getTimestamp() > NO_TIME;
        if (!isTimed && panes.areTimed()) {
            throw new IllegalArgumentException(
                    "a record has no timestamp, and windows of event time need one: call"
                            + " assignTimestampsAndWatermarks(...) on the stream");
        }
        return isTimed ? element.getTimestamp() : NO_TIME;
    }

    private void flush() {
        for (Pane<K, A> pane : open.values()) {
            send(pane);
        }
        open.clear();
        current = null;
    }

    private void send(Pane<K, A> pane) {
        Iterator<Map.Entry<K, A>> partials = pane.accumulators.entrySet().iterator();
        kept -= pane.accumulators.size();
        worth.sent(pane.accumulators.size());
        while (partials.hasNext()) {
            Map.Entry<K, A> partial = partials.next();
            partials.remove();
            send(partial.getKey(), partial.getValue(), pane.newest);
        }
    }

    /** Any time of the pane puts a partial into the windows of all its records. */
    private void send(K of, A accumulator, long time) {
        StreamRecord<Tuple2<K, A>> partial = new StreamRecord<>(Tuple2.of(of, accumulator));
        if (time != NO_TIME) {
            partial.setTimestamp(time);
        }
        output.collect(partial);
    }

    private static final class Pane<K, A> {
        final Map<K, A> accumulators = new HashMap<>();
        private final long first;
        private final long last;
        long newest;

        Pane(long first, long last, long newest) {
            this.first = first;
            this.last = last;
            this.newest = newest;
        }

        boolean has(long time) {
            return first <= time && time <= last;
        }
    }
}
