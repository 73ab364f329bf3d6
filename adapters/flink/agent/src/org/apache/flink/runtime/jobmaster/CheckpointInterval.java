package org.apache.flink.runtime.jobmaster;

import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.jobgraph.tasks.CheckpointCoordinatorConfiguration;

import dev.edgeplace.flink.ReflectedMember;

/** Changes the checkpoint interval of a running job, without a pause. */
public final class CheckpointInterval {
    private CheckpointInterval() {}

    /**
     * Sets the interval of a job that takes checkpoints. Later schedulers of the same job graph have
     * this interval, too.
     */
    public static void set(ExecutionGraph graph, long intervalMs) {
        CheckpointCoordinatorConfiguration configuration =
                graph.getCheckpointCoordinatorConfiguration();
        if (configuration.getCheckpointInterval() == intervalMs) {
            return;
        }
        Reflected.set(
                CheckpointCoordinatorConfiguration.class,
                configuration,
                ReflectedMember.CONFIGURED_INTERVAL,
                intervalMs);
        CheckpointCoordinator coordinator = graph.getCheckpointCoordinator();
        Reflected.set(
                CheckpointCoordinator.class,
                coordinator,
                ReflectedMember.CHECKPOINT_INTERVAL,
                intervalMs);
        if (coordinator.isPeriodicCheckpointingStarted()) {
            coordinator.stopCheckpointScheduler();
            coordinator.startCheckpointScheduler();
        }
    }
}
