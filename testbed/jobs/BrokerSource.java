package testbed.jobs;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * The messages of brokers: subtask i reads from the i-th, in a thread of its own. A subtask keeps in
 * its checkpoints the id after that of the last message that went on, and tells the broker when a
 * checkpoint is complete which messages it has.
 *
 * <p>A connection that is lost fails the task: Flink goes back to the last checkpoint, and the broker
 * sends what was not acknowledged by then.
 */
final class BrokerSource
        implements Source<String, NumberSequenceSplit, Collection<NumberSequenceSplit>> {
    private static final long serialVersionUID = 1L;
    // So many messages wait in a subtask; more wait in the broker.
    private static final int WAITING = 1000;
    private static final long WAIT_MS = 200;
    private static final long CLOSE_MS = 2000;

    private final Connection connection;

    /** Connects to a broker. */
    interface Connection extends Serializable {
        /**
         * Connects a subtask.
         *
         * @param subtask number of the subtask, from 0
         * @param from the first id that it has not seen
         */
        Feed open(int subtask, long from) throws Exception;
    }

    BrokerSource(Connection connection) {
        this.connection = connection;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        return OneRangeEach.ofLength(Long.MAX_VALUE, context);
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> restoreEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context,
            Collection<NumberSequenceSplit> left) {
        return new OneRangeEach(left, context);
    }

    @Override
    public SimpleVersionedSerializer<NumberSequenceSplit> getSplitSerializer() {
        return new NumberSequenceSource(0, 0).getSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<Collection<NumberSequenceSplit>>
            getEnumeratorCheckpointSerializer() {
        return new NumberSequenceSource(0, 0).getEnumeratorCheckpointSerializer();
    }

    @Override
    public SourceReader<String, NumberSequenceSplit> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    private final class Reader implements SourceReader<String, NumberSequenceSplit> {
        private final SourceReaderContext context;
        private final BlockingQueue<Feed.Message> waiting = new ArrayBlockingQueue<>(WAITING);
        private final NavigableMap<Long, List<Long>> inCheckpoints = new TreeMap<>();
        private List<Long> emitted = new ArrayList<>();
        private NumberSequenceSplit site;
        private long next;
        private Thread reading;
        private volatile Feed feed;
        private volatile Exception failure;
        private volatile boolean closed;
        private volatile CompletableFuture<Void> available = new CompletableFuture<>();

        Reader(SourceReaderContext context) {
            this.context = context;
        }

        @Override
        public void start() {
            if (site == null) {
                context.sendSplitRequest();
            }
        }

        @Override
        public void addSplits(List<NumberSequenceSplit> splits) {
            if (site != null || splits.size() != 1) {
                throw new IllegalStateException(
                        "a subtask has one broker: the parallelism of a source must not change");
            }
            site = splits.get(0);
            next = site.from();
            int subtask = OneRangeEach.subtaskOf(site);
            long from = next;
            reading = new Thread(() -> read(subtask, from), "broker-" + subtask);
            reading.setDaemon(true);
            reading.start();
        }

        /** In a thread of its own: reads until this subtask is closed, or something fails. */
        private void read(int subtask, long from) {
            try (Feed opened = connection.open(subtask, from)) {
                feed = opened;
                while (!closed) {
                    Feed.Message message = opened.receive();
                    if (message == null) {
                        continue;
                    }
                    while (!closed && !waiting.offer(message, WAIT_MS, TimeUnit.MILLISECONDS)) {
                        opened.idle();
                    }
                    available.complete(null);
                }
            } catch (Throwable error) {
                // Also an Error: who waits for this thread would wait for ever.
                failure = new IOException("subtask " + subtask + " reads no more", error);
                available.complete(null);
            }
        }

        @Override
        public InputStatus pollNext(ReaderOutput<String> output) throws Exception {
            Feed.Message message = waiting.poll();
            if (message != null) {
                output.collect(message.text);
                emitted.add(message.id);
                next = message.id + 1;
                return InputStatus.MORE_AVAILABLE;
            }
            if (failure != null) {
                throw failure;
            }
            available = new CompletableFuture<>();
            // What came before there was this future has completed the former.
            if (!waiting.isEmpty() || failure != null) {
                return InputStatus.MORE_AVAILABLE;
            }
            return InputStatus.NOTHING_AVAILABLE;
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return available;
        }

        @Override
        public List<NumberSequenceSplit> snapshotState(long checkpointId) {
            inCheckpoints.put(checkpointId, emitted);
            emitted = new ArrayList<>();
            return site == null
                    ? List.of()
                    : List.of(new NumberSequenceSplit(site.splitId(), next, site.to()));
        }

        @Override
        public void notifyCheckpointComplete(long checkpointId) throws Exception {
            // With those of checkpoints before that failed: this one has them, too.
            Map<Long, List<Long>> complete =
                    inCheckpoints.headMap(checkpointId, true);
            for (List<Long> ids : complete.values()) {
                if (!ids.isEmpty()) {
                    feed.acknowledge(ids);
                }
            }
            complete.clear();
        }

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() throws Exception {
            closed = true;
            if (reading != null) {
                reading.join(CLOSE_MS);
            }
        }
    }
}
