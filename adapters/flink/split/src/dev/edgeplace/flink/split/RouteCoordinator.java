package dev.edgeplace.flink.split;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;

/**
 * The routers' side in the JobManager.
 *
 * <p>What the split aggregates of a job share is a {@link JobShares}. A checkpoint keeps the weights
 * in force as text, so that a restart needs no valid file.
 */
final class RouteCoordinator implements OperatorCoordinator {
    private static final String SHARED = JobShares.class.getName();

    private final Context context;
    private final Routers routers;
    private JobShares shares;

    private RouteCoordinator(Context context, String combine, int workers) {
        this.context = context;
        routers = new Routers(combine, workers);
    }

    @Override
    public void start() {
        shares =
                (JobShares)
                        context.getCoordinatorStore()
                                .compute(SHARED, (key, other) -> JobShares.with(other, routers));
    }

    @Override
    public void close() {
        context.getCoordinatorStore()
                .computeIfPresent(SHARED, (key, own) -> ((JobShares) own).without(routers));
    }

    @Override
    public void handleEventFromOperator(int subtask, int attempt, OperatorEvent event) {
        shares.report(routers, subtask, (RouterReport) event);
    }

    @Override
    public void checkpointCoordinator(long checkpointId, CompletableFuture<byte[]> result) {
        result.complete(shares.text(routers).getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {}

    @Override
    public void resetToCheckpoint(long checkpointId, byte[] data) {
        // Flink may do this before it starts the coordinator.
        String text = data == null ? "" : new String(data, StandardCharsets.UTF_8);
        if (shares == null) {
            routers.restored = text;
        } else {
            shares.restore(routers, text);
        }
    }

    @Override
    public void subtaskReset(int subtask, long checkpointId) {
        shares.lost(routers, subtask);
    }

    @Override
    public void executionAttemptFailed(int subtask, int attempt, Throwable reason) {
        shares.lost(routers, subtask);
    }

    @Override
    public void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
        shares.ready(routers, subtask, gateway);
    }

    /** Makes the coordinator in the JobManager. */
    static final class Provider implements OperatorCoordinator.Provider {
        private static final long serialVersionUID = 1L;

        private final OperatorID id;
        private final String combine;
        private final int workers;

        Provider(OperatorID id, String combine, int workers) {
            this.id = id;
            this.combine = combine;
            this.workers = workers;
        }

        @Override
        public OperatorID getOperatorId() {
            return id;
        }

        @Override
        public OperatorCoordinator create(Context context) {
            return new RouteCoordinator(context, combine, workers);
        }
    }
}
