package testbed.jobs;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Partial aggregates of the records of one subtask, to be completed behind a HASH: as many records
 * go on as there are keys, not as there were records.
 *
 * <p>All partial aggregates go on after so many records, after so much time, and before a
 * checkpoint, which is why there is nothing to store in one.
 */
abstract class Combine<I, K, P> extends AbstractStreamOperator<P>
        implements OneInputStreamOperator<I, P> {
    private static final long serialVersionUID = 1L;

    private final int flushRecords;
    private final long flushMs;
    private transient Map<K, P> partials;
    private transient int folded;

    Combine(int flushRecords, long flushMs) {
        this.flushRecords = flushRecords;
        this.flushMs = flushMs;
    }

    /** Adds one record to the partial aggregates of its keys. */
    protected abstract void fold(I record, Map<K, P> partials);

    /** Makes a partial aggregate ready to go on. */
    protected StreamRecord<P> finished(P partial) {
        return new StreamRecord<>(partial);
    }

    @Override
    public void open() throws Exception {
        super.open();
        partials = new HashMap<>();
        getProcessingTimeService().scheduleAtFixedRate(now -> flush(), flushMs, flushMs);
    }

    @Override
    public void processElement(StreamRecord<I> record) {
        fold(record.getValue(), partials);
        folded++;
        if (folded >= flushRecords) {
            flush();
        }
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

    protected final void flush() {
        for (P partial : partials.values()) {
            output.collect(finished(partial));
        }
        partials.clear();
        folded = 0;
    }
}
