package testbed.jobs;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceEnumerator;
import org.apache.flink.core.io.InputStatus;

/**
 * The numbers from 0, at a limited rate, in ranges of ascending order: one for each subtask, or more.
 * The position in each range is in the checkpoints, so that a restored job goes on exactly there.
 *
 * <p>Once a file appears, the rest comes at full speed: a test says when the job shall end, and
 * still knows what the job must have seen by then. A number in the file is another rate of a
 * subtask.
 */
public final class PacedNumbers extends NumberSequenceSource {
    private static final long serialVersionUID = 1L;

    private final double perSubtaskAndSecond;
    private final String atFullSpeedFile;
    /** 0: one for each subtask. */
    private final int splits;

    public PacedNumbers(long count, double perSubtaskAndSecond, String atFullSpeedFile) {
        this(count, perSubtaskAndSecond, atFullSpeedFile, 0);
    }

    public PacedNumbers(
            long count, double perSubtaskAndSecond, String atFullSpeedFile, int splits) {
        super(0, count - 1);
        this.perSubtaskAndSecond = perSubtaskAndSecond;
        this.atFullSpeedFile = atFullSpeedFile;
        this.splits = splits;
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        return splits == 0
                ? super.createEnumerator(context)
                : new IteratorSourceEnumerator<>(
                        context, splitNumberRange(getFrom(), getTo(), splits));
    }

    @Override
    public SourceReader<Long, NumberSequenceSplit> createReader(SourceReaderContext context) {
        return new PacedReader(super.createReader(context));
    }

    private final class PacedReader implements SourceReader<Long, NumberSequenceSplit> {
        private static final long LOOK_FOR_FILE_NANOS = 100_000_000;
        /** Short beside a checkpoint, and long beside what asking costs a processor. */
        private static final long WAIT_MILLIS = 5;

        private final SourceReader<Long, NumberSequenceSplit> numbers;
        private final File file = new File(atFullSpeedFile);
        private long startNanos;
        private long lookNanos;
        private long polls;
        private double perSecond = perSubtaskAndSecond;
        private boolean atFullSpeed;

        PacedReader(SourceReader<Long, NumberSequenceSplit> numbers) {
            this.numbers = numbers;
        }

        @Override
        public void start() {
            startNanos = System.nanoTime();
            lookNanos = startNanos;
            numbers.start();
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Long> output) throws Exception {
            if (!isDue()) {
                // The task does its other work, such as checkpoints, and asks again.
                Thread.sleep(WAIT_MILLIS);
                return InputStatus.NOTHING_AVAILABLE;
            }
            polls++;
            return numbers.pollNext(output);
        }

        private boolean isDue() throws IOException {
            long now = System.nanoTime();
            if (!atFullSpeed && now - lookNanos >= 0) {
                look(now);
                lookNanos = now + LOOK_FOR_FILE_NANOS;
            }
            return atFullSpeed || polls <= (now - startNanos) / 1e9 * perSecond;
        }

        private void look(long now) throws IOException {
            if (!file.exists()) {
                return;
            }
            String text = Files.readString(file.toPath()).strip();
            atFullSpeed = text.isEmpty();
            double rate = atFullSpeed ? perSecond : Double.parseDouble(text);
            if (rate != perSecond) {
                perSecond = rate;
                startNanos = now;
                polls = 0;
            }
        }

        @Override
        public List<NumberSequenceSplit> snapshotState(long checkpointId) {
            return numbers.snapshotState(checkpointId);
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return numbers.isAvailable();
        }

        @Override
        public void addSplits(List<NumberSequenceSplit> splits) {
            numbers.addSplits(splits);
        }

        @Override
        public void notifyNoMoreSplits() {
            numbers.notifyNoMoreSplits();
        }

        @Override
        public void close() throws Exception {
            numbers.close();
        }
    }
}
