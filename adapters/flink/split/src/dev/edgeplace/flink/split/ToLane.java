package dev.edgeplace.flink.split;

import org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper;
import org.apache.flink.runtime.plugable.SerializationDelegate;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Sends each record where the router before it wants it.
 *
 * <p>Flink refuses a {@code partitionCustom} if checkpoints are unaligned, since it cannot tell which
 * subtask may have a record after a rescale. Here, each may: what is combined anywhere is merged.
 */
final class ToLane<T> extends StreamPartitioner<T> {
    private static final long serialVersionUID = 1L;

    private transient Lane lane;

    @Override
    public int selectChannel(SerializationDelegate<StreamRecord<T>> record) {
        if (lane == null) {
            lane = Lane.ofThisTask();
        }
        lane.workers = numberOfChannels;
        // Until the router has learnt that there are fewer workers than before.
        return lane.worker < numberOfChannels ? lane.worker : lane.worker % numberOfChannels;
    }

    @Override
    public SubtaskStateMapper getDownstreamSubtaskStateMapper() {
        return SubtaskStateMapper.ROUND_ROBIN;
    }

    @Override
    public StreamPartitioner<T> copy() {
        return this;
    }

    @Override
    public boolean isPointwise() {
        return false;
    }

    /** The ship strategy, as REST shows it. */
    @Override
    public String toString() {
        return "CUSTOM";
    }
}
