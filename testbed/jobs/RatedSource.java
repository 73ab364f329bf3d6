package testbed.jobs;

import java.util.Collection;
import java.util.List;
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
 * Records made by a recipe, at a rate that a file can change while the job runs. Subtask i makes
 * the records of site i; how far it is, is in the checkpoints, so that a restored job goes on
 * exactly there.
 *
 * <p>While no record is due the task is idle, so that Flink's busy time of the source is the time
 * it has worked.
 */
final class RatedSource<T>
        implements Source<T, NumberSequenceSplit, Collection<NumberSequenceSplit>> {
    private static final long serialVersionUID = 1L;
    private static final long LOG_WAIT_NANOS = 5_000_000;

    private final Recipe<T> recipe;
    private final Clock clock;
    private final long records;
    private final String rate;
    private final String rateFile;
    private final String folder;
    private final String offered;

    /**
     * Describes the source.
     *
     * @param records how many a subtask makes until it ends
     * @param rate of a subtask, see {@link Pace}
     * @param rateFile see {@link Pace}, may be null
     * @param folder where subtasks tell how many records they have emitted, see {@link Emissions}
     * @param offered see {@link Offered}, in place of the rate; may be null
     */
    RatedSource(
            Recipe<T> recipe,
            Clock clock,
            long records,
            String rate,
            String rateFile,
            String folder,
            String offered) {
        this.recipe = recipe;
        this.clock = clock;
        this.records = records;
        this.rate = rate;
        this.rateFile = rateFile;
        this.folder = folder;
        this.offered = offered;
    }

    @Override
    public Boundedness getBoundedness() {
        // A bounded job would be checkpointed and scheduled in another way: this one only ends.
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        return OneRangeEach.ofLength(records, context);
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
    public SourceReader<T, NumberSequenceSplit> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    private final class Reader implements SourceReader<T, NumberSequenceSplit> {
        private final SourceReaderContext context;
        private final Pace pace = new Pace(rate, rateFile, System.nanoTime());
        private final Offered log = offered == null ? null : new Offered(offered);
        private CompletableFuture<Void> available = new CompletableFuture<>();
        private String range;
        private int site;
        private long next;
        private long last = -1;
        private boolean noMore;
        private Emissions emissions;

        Reader(SourceReaderContext context) {
            this.context = context;
        }

        @Override
        public void start() {
            if (range == null) {
                context.sendSplitRequest();
            }
        }

        @Override
        public void addSplits(List<NumberSequenceSplit> splits) {
            if (range != null || splits.size() != 1) {
                throw new IllegalStateException(
                        "a subtask has one range: the parallelism of a source must not change");
            }
            range = splits.get(0).splitId();
            site = OneRangeEach.subtaskOf(splits.get(0));
            next = splits.get(0).from();
            last = splits.get(0).to();
            available.complete(null);
        }

        @Override
        public void notifyNoMoreSplits() {
            noMore = true;
            available.complete(null);
        }

        @Override
        public InputStatus pollNext(ReaderOutput<T> output) throws Exception {
            if (next > last) {
                return range != null || noMore
                        ? InputStatus.END_OF_INPUT
                        : InputStatus.NOTHING_AVAILABLE;
            }
            long now = System.nanoTime();
            if (emissions == null) {
                emissions = new Emissions(folder, site, now);
            }
            emissions.count(next, now);
            boolean due =
                    log == null ? pace.take(now) : next < log.until(System.currentTimeMillis());
            if (!due) {
                long waitNanos = log == null ? pace.waitNanos(now) : LOG_WAIT_NANOS;
                available =
                        new CompletableFuture<Void>()
                                .completeOnTimeout(null, waitNanos, TimeUnit.NANOSECONDS);
                return InputStatus.NOTHING_AVAILABLE;
            }
            long timeMs = clock.timeMs(next);
            output.collect(recipe.make(site, next, timeMs), timeMs);
            next++;
            return InputStatus.MORE_AVAILABLE;
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return available;
        }

        @Override
        public List<NumberSequenceSplit> snapshotState(long checkpointId) {
            return next > last ? List.of() : List.of(new NumberSequenceSplit(range, next, last));
        }

        @Override
        public void close() throws Exception {
            if (emissions != null) {
                emissions.close();
            }
        }
    }
}
