package org.apache.flink.runtime.scheduler;

import static dev.edgeplace.flink.PlanSettings.UNKNOWN;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmaster.SchedulerReplacement;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.apache.flink.util.ExceptionUtils;
import org.apache.flink.util.FlinkException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.Quote;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.Turns;

/**
 * How a running job gets to another plan: a checkpoint, the slots that the plan needs, then a
 * redeployment in the same parallelism or a new scheduler of another one.
 *
 * <p>All methods run in the JobMaster's main thread.
 */
final class JobMove {
    private static final Logger LOG = LoggerFactory.getLogger(JobMove.class);

    /** For how long after a move the job can move back without a new checkpoint. */
    private static final long WAY_BACK_MS = 600_000;
    /** The least time between two moves: a plan that changes all the time must not stop the job. */
    private static final long REST_MS = 5_000;
    /** If slots do not come in this time, another job has taken them. */
    private static final long SLOTS_WITHIN_MS = 10_000;
    private static final long LOOK_FOR_SLOTS_EVERY_MS = 20;
    /**
     * If not all subtasks of a rescaled job are deployed in this time, the job goes back. How long
     * they read their state is not limited: after going back, they would read it again.
     */
    private static final long DEPLOYED_WITHIN_MS = 60_000;

    private enum Step {
        NONE,
        CHECKPOINT,
        REDEPLOYMENT,
        /** The next scheduler has a {@code JobMove} of its own. */
        RESCALING
    }

    private final DefaultScheduler scheduler;
    private final ExecutionGraph graph;
    private final Agent agent;
    private final JobPlans plans;
    private final Subtasks subtasks;
    private final HeldSlots held;

    private Step step = Step.NONE;
    private int count;
    private long lastNanos;
    /** For how long not all subtasks ran at the last move; -1 until they run. */
    private long lastMs = UNKNOWN;
    /** Where each subtask ran before the last move. */
    private Map<ExecutionVertexID, String> formerPlaces = Map.of();
    /** Present until all subtasks have run under this scheduler, which has replaced another. */
    private SchedulerReplacement.Trial trial;

    JobMove(
            DefaultScheduler scheduler,
            Agent agent,
            JobPlans plans,
            Subtasks subtasks,
            HeldSlots held) {
        this.scheduler = scheduler;
        this.graph = scheduler.getExecutionGraph();
        this.agent = agent;
        this.plans = plans;
        this.subtasks = subtasks;
        this.held = held;
    }

    /** Continues with what the former scheduler of the job has left. */
    void takeOver(Handover handover) {
        formerPlaces = handover.formerPlaces;
        count = handover.moves;
        lastNanos = handover.movedNanos;
        trial = handover.trial;
    }

    /** Returns how often the job has moved. */
    int count() {
        return count;
    }

    /** Returns for how long not all subtasks ran at the last move; -1: it is not over, or none was. */
    long lastMs() {
        if (lastMs == UNKNOWN && count > 0 && step == Step.NONE && subtasks.areAllUp()) {
            long beganMs = System.currentTimeMillis() - msSince(lastNanos);
            lastMs = Math.max(0, subtasks.allRunSinceMs() - beganMs);
        }
        return lastMs;
    }

    boolean isUnderWay() {
        return step != Step.NONE;
    }

    boolean isOnTrial() {
        return trial != null;
    }

    /** Returns why the job cannot be moved now, or null if the last move is long enough ago. */
    String restNeeded() {
        if (count == 0 || msSince(lastNanos) >= REST_MS) {
            return null;
        }
        return "the job was moved a moment ago: there are " + REST_MS / 1000
                + " s at least between two moves";
    }

    /** Called when the subtasks that a move has cancelled ask for their slots. */
    void slotsAreAsked() {
        if (step == Step.REDEPLOYMENT || step == Step.RESCALING) {
            step = Step.NONE; // From here on, the job may get another plan.
        }
    }

    /**
     * Ends the trial of this scheduler if all subtasks run, or if they are not deployed in time.
     *
     * @return whether the trial was passed in this call
     */
    boolean watchTrial(Iterable<String> waitingFor) {
        if (trial == null) {
            return false;
        }
        if (subtasks.areAllUp()) {
            trial.passed();
            trial = null;
            return true;
        }
        if (msSince(lastNanos) > DEPLOYED_WITHIN_MS && !subtasks.areAllDeployed()) {
            trial.failed(
                    new FlinkException(
                            "not all subtasks are deployed after " + DEPLOYED_WITHIN_MS / 1000
                                    + " s, they wait for slots of " + waitingFor));
        }
        return false;
    }

    /** Moves a job to a plan. */
    void begin(JobPlan plan, String why) {
        LOG.info("edgeplace: {} takes a checkpoint, then is moved: {}", name(), why);
        CompletableFuture<?> checkpoint = scheduler.triggerCheckpoint(CheckpointType.CONFIGURED);
        // This line stands below the call, which may throw. The step cannot be overtaken: what
        // follows the checkpoint runs in a later turn of this thread.
        step = Step.CHECKPOINT;
        held.ask(plan, TaskManagers.latest());
        CompletableFuture<Boolean> areSlotsHeld = new CompletableFuture<>();
        lookForSlots(System.nanoTime(), areSlotsHeld);
        CompletableFuture.allOf(checkpoint, areSlotsHeld)
                .whenCompleteAsync(
                        (completed, failure) -> {
                            Turns.Turn turn = agent.turns.begin();
                            try {
                                afterCheckpoint(plan, why, failure, areSlotsHeld.join());
                            } catch (RuntimeException e) {
                                // Nothing reads the result of this future.
                                LOG.error("edgeplace: {} could not be moved", name(), e);
                            }
                            turn.end();
                        },
                        scheduler.getMainThreadExecutor());
    }

    /** Moves a job to a plan without a new checkpoint. */
    void skipCheckpoint(JobPlan plan, String why) {
        if (subtasks.areThoseOf(plan)) {
            redeploy(why);
            return;
        }
        try {
            rescale(plan, why);
        } catch (IllegalStateException e) {
            held.giveBack();
            plans.reject(List.of("the job cannot be rescaled: " + Quote.cut(e.getMessage())));
        }
    }

    /** Completes a future with whether the held slots have come in time. */
    private void lookForSlots(long sinceNanos, CompletableFuture<Boolean> found) {
        if (held.areThere()) {
            found.complete(true);
        } else if (msSince(sinceNanos) > SLOTS_WITHIN_MS || graph.getState().isTerminalState()) {
            found.complete(false);
        } else {
            scheduler
                    .getMainThreadExecutor()
                    .schedule(
                            () -> lookForSlots(sinceNanos, found),
                            LOOK_FOR_SLOTS_EVERY_MS,
                            TimeUnit.MILLISECONDS);
        }
    }

    private void afterCheckpoint(
            JobPlan plan, String why, Throwable failure, boolean areSlotsHeld) {
        step = Step.NONE;
        if (!areSlotsHeld) {
            held.giveBack();
            refuse(
                    plan,
                    "its slots did not come within " + SLOTS_WITHIN_MS / 1000 + " s, another job"
                            + " may have taken them: nothing has moved, write the plan again");
        } else if (plan != plans.wanted() && plan != plans.adopted()) {
            return; // Another plan has come meanwhile: the next review moves the job to it.
        } else if (failure != null && !leadsBack(plan)) {
            String cause = ExceptionUtils.stripCompletionException(failure).toString();
            refuse(plan, "the checkpoint before the move failed: " + cause);
        } else if (graph.getState() == JobStatus.RUNNING && plans.isStillGood(plan)) {
            if (failure != null) {
                // Checkpoints may always fail at the new places: the job returns as after a failure.
                LOG.warn("edgeplace: {} goes back without a new checkpoint", name(), failure);
            }
            skipCheckpoint(plan, failure == null ? why : why + ", without a new checkpoint");
        }
    }

    private void refuse(JobPlan plan, String problem) {
        if (plan == plans.wanted()) {
            plans.reject(List.of(problem));
        } else {
            LOG.warn("edgeplace: {} is not moved: {}", name(), problem);
        }
    }

    /** Tells whether a plan has the places from which the last move has come. */
    private boolean leadsBack(JobPlan plan) {
        if (msSince(lastNanos) > WAY_BACK_MS) {
            return false; // The old checkpoint is too old: too many records would be read again.
        }
        if (!plan.locations.keySet().equals(formerPlaces.keySet())) {
            return false;
        }
        TaskManagers seen = TaskManagers.latest();
        for (Map.Entry<ExecutionVertexID, String> each : plan.locations.entrySet()) {
            if (!seen.idsAt(each.getValue()).contains(formerPlaces.get(each.getKey()))) {
                return false;
            }
        }
        return true;
    }

    private void redeploy(String why) {
        Map<ExecutionVertexID, String> places = subtasks.places();
        Internals.restartAll(
                scheduler, Set.copyOf(subtasks.all()), new PlacementChangedException(why));
        // These lines stand below the call, which may throw. Slots are asked for in a later turn of
        // this thread, after all subtasks are cancelled.
        formerPlaces = places;
        step = Step.REDEPLOYMENT;
        count++;
        lastNanos = System.nanoTime();
        lastMs = UNKNOWN;
    }

    /** Replaces the scheduler by one for the plan. If that fails, one like this one follows. */
    private void rescale(JobPlan plan, String why) {
        LOG.info("edgeplace: {} is rescaled: {}", name(), why);
        Map<ExecutionVertexID, String> places = subtasks.places();
        Map<JobVertexID, Integer> parallelism = new HashMap<>();
        places.keySet().forEach(each -> parallelism.merge(each.getJobVertexId(), 1, Integer::sum));
        Map<ExecutionVertexID, AllocationID> slots = subtasks.slots();
        Map<ExecutionVertexID, AllocationID> slotsOfUnchanged = new HashMap<>(slots);
        slotsOfUnchanged
                .keySet()
                .removeIf(
                        each ->
                                !parallelism
                                        .get(each.getJobVertexId())
                                        .equals(plan.parallelism.get(each.getJobVertexId())));
        PlanFile file = plans.judged();
        JobPlan own = plans.adopted();
        long nowNanos = System.nanoTime();
        SchedulerReplacement.begin(
                scheduler,
                scheduler.getMainThreadExecutor(),
                plan.parallelism,
                next ->
                        Handover.leave(
                                graph.getJobID(),
                                new Handover(
                                        file, List.of(), plan, places, slotsOfUnchanged,
                                        plans.epoch(), count + 1, nowNanos, held, next)),
                parallelism,
                cause ->
                        Handover.leave(
                                graph.getJobID(),
                                new Handover(
                                        file, wentBack(cause), own, Map.of(), slots,
                                        plans.epoch(), count + 2, System.nanoTime(), held,
                                        null)));
        step = Step.RESCALING; // Below the call, which may throw.
    }

    private static List<String> wentBack(Throwable cause) {
        return List.of(
                "the job did not run in the plan's parallelism, and went back to its former one: "
                        + Quote.cut(String.valueOf(cause)));
    }

    private String name() {
        return "job '" + graph.getJobName() + "' (" + graph.getJobID() + ")";
    }

    private static long msSince(long nanos) {
        return (System.nanoTime() - nanos) / 1_000_000;
    }
}
