package testbed.jobs;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.CheckpointStorageFactory;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;

/**
 * Sends checkpoints to the JobManager, as {@code execution.checkpointing.storage: jobmanager} does,
 * whose limit of 5 MB a subtask no option raises. At full speed, Nexmark's Q5 comes to that.
 */
public final class LargeStateAtJobManager
        implements CheckpointStorageFactory<JobManagerCheckpointStorage> {
    private static final int MOST_BYTES = 64 << 20;

    @Override
    public JobManagerCheckpointStorage createFromConfig(
            ReadableConfig config, ClassLoader classLoader) {
        return new JobManagerCheckpointStorage(MOST_BYTES);
    }
}
