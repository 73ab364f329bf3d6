package testbed.jobs;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;

/**
 * Gives subtask i the range i, and no other: whoever asks first would get more in Flink's own way
 * of giving out ranges, and a subtask without one would let event time run ahead.
 */
final class OneRangeEach
        implements SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> {
    private final SplitEnumeratorContext<NumberSequenceSplit> context;
    private final Map<Integer, NumberSequenceSplit> left = new TreeMap<>();

    OneRangeEach(
            Collection<NumberSequenceSplit> left,
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        this.context = context;
        left.forEach(range -> this.left.put(subtaskOf(range), range));
    }

    /** One range from 0 for each subtask of the source. */
    static OneRangeEach ofLength(
            long length, SplitEnumeratorContext<NumberSequenceSplit> context) {
        List<NumberSequenceSplit> ranges = new ArrayList<>();
        for (int subtask = 0; subtask < context.currentParallelism(); subtask++) {
            ranges.add(new NumberSequenceSplit(String.valueOf(subtask), 0, length - 1));
        }
        return new OneRangeEach(ranges, context);
    }

    static int subtaskOf(NumberSequenceSplit range) {
        return Integer.parseInt(range.splitId());
    }

    @Override
    public void start() {}

    @Override
    public void addReader(int subtask) {}

    @Override
    public void handleSplitRequest(int subtask, String host) {
        NumberSequenceSplit range = left.remove(subtask);
        if (range != null) {
            context.assignSplit(range, subtask);
        }
        context.signalNoMoreSplits(subtask);
    }

    @Override
    public void addSplitsBack(List<NumberSequenceSplit> splits, int subtask) {
        splits.forEach(range -> left.put(subtaskOf(range), range));
    }

    @Override
    public Collection<NumberSequenceSplit> snapshotState(long checkpointId) {
        return new ArrayList<>(left.values());
    }

    @Override
    public void close() {}
}
