package org.apache.flink.runtime.scheduler;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmaster.CheckpointInterval;
import org.apache.flink.runtime.jobmaster.SchedulerReplacement;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.apache.flink.runtime.scheduler.strategy.SchedulingExecutionVertex;
import org.apache.flink.runtime.taskmanager.TaskManagerLocation;
import org.apache.flink.util.ExceptionUtils;
import org.apache.flink.util.FlinkException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.Options;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlannedJob;
import dev.edgeplace.flink.Quote;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.TaskManagers.TaskManager;
import dev.edgeplace.flink.Turns;

/**
 * The placement of one job under one JobMaster: which plan it has, which it shall have, and the
 * way from one to the other. Its state belongs to the JobMaster's main thread.
 */
final class JobPlacement implements PlannedJob {
    private static final Logger LOG = LoggerFactory.getLogger(JobPlacement.class);

    /** How long the way back of a move is open without a checkpoint. */
    private static final long WAY_BACK_MS = 600_000;
    /** Between two moves, so that a plan that changes all the time does not stop the job. */
    private static final long REST_MS = 5_000;
    /** Within it a plan's slots are there, or have been taken by another job. */
    private static final long SLOTS_WITHIN_MS = 10_000;
    private static final long LOOK_FOR_SLOTS_EVERY_MS = 20;
    /** Within it all subtasks of a rescaled job run, or it goes back. */
    private static final long TRIAL_MS = 60_000;

    /** On the way to another placement of a running job. */
    private enum Move {
        NONE,
        CHECKPOINT,
        REDEPLOYMENT,
        /** Ends with this object: the next scheduler has its own. */
        RESCALING
    }

    private final DefaultScheduler scheduler;
    private final ExecutionSlotAllocationContext context;
    private final Agent agent;
    private final ExecutionGraph graph;
    private final StatusReport report;
    private final PlanReader reader;
    private PlannedSlotProvider slots;

    /** The plan by which subtasks are placed; null: by stock Flink. */
    private JobPlan adopted;
    /** A good plan that is still to be adopted, or null. */
    private JobPlan wanted;
    /** Groups of subtasks that have been placed by a plan. */
    private final Map<ExecutionVertexID, ExecutionSlotSharingGroup> groups = new HashMap<>();

    /** Where each subtask ran before the last move. */
    private Map<ExecutionVertexID, String> former = Map.of();

    private PlanFile judged;
    private List<String> rejections = List.of();
    private List<String> obstacles = List.of();
    private Move move = Move.NONE;
    private int moves;
    private long movedNanos;
    private long triedToComeHomeMs;
    /** The highest of the plans so far; one with a lower is of a controller that was replaced. */
    private long epoch;
    /** What a former scheduler of the job has left, until the first start; then null. */
    private Handover left;
    private final boolean isRescaled;
    /** What this scheduler has to pass; null once all subtasks have run under it. */
    private SchedulerReplacement.Trial trial;

    JobPlacement(DefaultScheduler scheduler, ExecutionSlotAllocationContext context, Agent agent) {
        this.scheduler = scheduler;
        this.context = context;
        this.agent = agent;
        this.graph = scheduler.getExecutionGraph();
        this.report = new StatusReport(agent.plans, jobId(), jobName());
        String fixedBecause = agent.noRescalingBecause();
        this.reader = new PlanReader(() -> JobShape.of(graph, context, fixedBecause));
        this.left = Handover.take(graph.getJobID());
        this.isRescaled = left != null;
        if (left != null) {
            judged = left.judged;
            rejections = left.rejections;
            former = left.former;
            epoch = left.epoch;
            moves = left.moves;
            movedNanos = left.movedNanos;
            trial = left.trial;
        }
    }

    /** Returns what provides the job's slots from now on. */
    PlannedSlotProvider start(PhysicalSlotProvider stock) {
        slots = new PlannedSlotProvider(stock, this, left == null ? null : left.held);
        agent.watch(this);
        return slots;
    }

    Options options() {
        return agent.options;
    }

    Collection<ExecutionVertexID> subtasks() {
        List<ExecutionVertexID> all = new ArrayList<>();
        for (SchedulingExecutionVertex each : context.getSchedulingTopology().getVertices()) {
            all.add(each.getId());
        }
        return all;
    }

    /** Returns with whom a subtask shares a slot by plan, or null. */
    ExecutionSlotSharingGroup group(ExecutionVertexID subtask) {
        return groups.get(subtask);
    }

    /**
     * Called before slots are allocated for subtasks, which do not run. A job that starts as a
     * whole takes the newest plan; a part of it that is restarted goes where it was planned.
     */
    void beforeAllocation(Set<ExecutionVertexID> starting) {
        Turns.Turn turn = agent.turns.begin();
        try {
            if (isWholeStart(starting)) {
                adoptAtStart();
            }
        } catch (IOException | RuntimeException e) {
            // Whatever is wrong, the job starts: as it was placed before.
            LOG.error("edgeplace: the plan of {} cannot be used", this, e);
            rejections = List.of("the plan cannot be used: " + e);
        }
        if (adopted != null) {
            for (ExecutionVertexID each : starting) {
                groups.put(each, adopted.group(each));
            }
        }
        if (move == Move.REDEPLOYMENT || move == Move.RESCALING) {
            // It has its slots, or waits for them: another plan is looked at from here on.
            move = Move.NONE;
        }
        turn.end();
    }

    @Override
    public String jobId() {
        return graph.getJobID().toString();
    }

    @Override
    public String jobName() {
        return graph.getJobName();
    }

    @Override
    public boolean hasEnded() {
        return graph.getState().isTerminalState();
    }

    @Override
    public boolean hasEndedForGood() {
        return graph.getState().isGloballyTerminalState();
    }

    @Override
    public long largestPlanBytes() {
        return reader.largestPlanBytes();
    }

    @Override
    public void prepare(PlanFile plan) {
        if (plan != null) {
            reader.read(plan);
        }
    }

    @Override
    public void review(PlanFile plan) {
        PlanReader.Read read = plan == null ? null : reader.read(plan);
        scheduler.getMainThreadExecutor().execute(() -> reviewInMainThread(read));
    }

    @Override
    public String toString() {
        return "job '" + jobName() + "' (" + jobId() + ")";
    }

    private void reviewInMainThread(PlanReader.Read plan) {
        if (hasEnded()) {
            return;
        }
        Turns.Turn turn = agent.turns.begin();
        try {
            if (!isJudged(plan == null ? null : plan.file)) {
                judge(plan);
            }
            slots.review();
            watchTrial();
            if (move == Move.NONE && slots.waitingFor().isEmpty()) {
                slots.held.giveBack();
            }
            if (trial != null) {
                obstacles = List.of("the job is being rescaled");
            } else if (wanted != null && move == Move.NONE) {
                pursue();
            } else if (adopted != null && move == Move.NONE && isAllRunning()) {
                comeHome();
            }
            reportStatus();
        } catch (IOException | RuntimeException e) {
            LOG.error("edgeplace: the placement of {} could not be looked after", this, e);
        }
        turn.end();
    }

    private void watchTrial() {
        if (trial == null) {
            return;
        }
        if (isAllRunning()) {
            trial.passed();
            trial = null;
            obstacles = List.of();
            if (adopted != null) {
                settle(adopted);
            }
        } else if (msSince(movedNanos) > TRIAL_MS) {
            trial.failed(
                    new FlinkException(
                            "not all subtasks run after " + TRIAL_MS / 1000
                                    + " s, they wait for slots of " + slots.waitingFor()));
        }
    }

    private boolean isJudged(PlanFile plan) {
        return plan == null
                ? judged == null
                : judged != null && judged.stamp.equals(plan.stamp);
    }

    private List<String> problems(PlanReader.Read read, boolean isRunning) {
        return read.plan == null ? read.problems : problems(read.plan, isRunning);
    }

    private List<String> problems(JobPlan plan, boolean isRunning) {
        if (plan.epoch > 0 && plan.epoch < epoch) {
            return List.of(
                    "the plan's epoch is " + plan.epoch + ", and a plan of epoch " + epoch
                            + " was here before: another controller has taken over, end this one");
        }
        epoch = Math.max(epoch, plan.epoch);
        return PlanJudge.problems(plan, graph.getJobID(), TaskManagers.latest(), isRunning);
    }

    /** Takes note of a new, changed or removed plan file. */
    private void judge(PlanReader.Read plan) {
        judged = plan == null ? null : plan.file;
        wanted = null;
        rejections = List.of();
        obstacles = List.of();
        if (plan == null) {
            return; // A job keeps the plan it has.
        }
        List<String> problems = problems(plan, graph.getState() == JobStatus.RUNNING);
        if (problems.isEmpty()) {
            wanted = plan.plan;
        } else {
            reject(problems);
        }
    }

    private void reject(List<String> problems) {
        wanted = null;
        rejections = problems;
        LOG.error(
                "edgeplace: the plan {} is rejected as a whole, {} stays as it is placed:\n\t{}",
                judged.path,
                this,
                String.join("\n\t", problems));
    }

    private void adoptAtStart() throws IOException {
        if (left != null) {
            if (left.plan != null) {
                adopt(left.plan);
                // Slots of the former placement may be in the way of others, and of this one.
                scheduler.getMainThreadExecutor().execute(slots::releaseIdleSlots);
            }
            left = null;
            return;
        }
        JobPlan former = adopted;
        PlanFile newest = agent.planOf(this);
        PlanFile last =
                adopted == null ? agent.plans.applied(jobId(), largestPlanBytes()) : null;
        if (newest != null && !isJudged(newest)) {
            // The agent's thread has read it, unless it has just changed.
            PlanReader.Read read = reader.read(newest);
            judged = newest;
            // A job that has run has a place to go back to, and does not wait for a new plan's.
            List<String> problems = problems(read, hasRun());
            if (problems.isEmpty()) {
                rejections = List.of();
                wanted = read.plan;
            } else {
                reject(problems);
            }
        }
        if (wanted != null && isOfThisParallelism(wanted)) {
            adopt(wanted);
        } else if (last != null) {
            // The JobManager was restarted, and the plan file is gone or has become unusable, or
            // wants another parallelism, which comes once the job runs.
            PlanReader.Read read = reader.read(last);
            if (problems(read, false).isEmpty() && isOfThisParallelism(read.plan)) {
                JobPlan next = wanted;
                adopt(read.plan);
                wanted = next;
            }
        }
        if (adopted != former) {
            // Slots of the former placement that nobody wants any more may be in the way of others;
            // once all requests of this start have been made, it is known which.
            scheduler.getMainThreadExecutor().execute(slots::releaseIdleSlots);
        }
    }

    private void adopt(JobPlan plan) {
        adopted = plan;
        wanted = null;
        obstacles = List.of();
        LOG.info("edgeplace: {} is placed by {}", this, plan.file.path);
        if (trial == null) {
            settle(plan);
        }
    }

    /** Does what a plan asks for beside places, and keeps it for the next JobManager. */
    private void settle(JobPlan plan) {
        if (plan.checkpointIntervalMs > 0 && isCheckpointed() && agent.noRescalingBecause() == null) {
            CheckpointInterval.set(graph, plan.checkpointIntervalMs);
        }
        try {
            agent.plans.writeApplied(jobId(), plan.file.bytes);
        } catch (IOException e) {
            // The copy serves the next JobManager only: no reason not to place the job now.
            LOG.warn(
                    "edgeplace: {} is not kept for {}: after a restart of the JobManager the job is"
                            + " placed by its plan file only, if that is there and good then",
                    plan.file.path,
                    this,
                    e);
        }
    }

    /** Brings a running job to the wanted plan. */
    private void pursue() {
        if (adopted != null && wanted.locations.equals(adopted.locations)) {
            adopt(adopted.as(wanted)); // The same: the slots that are shared stay shared.
        } else if (isOfThisParallelism(wanted) && isAllRunning() && away(wanted).isEmpty()) {
            adopt(wanted); // Without a move; it counts at the next fail-over.
        } else if (graph.getState() != JobStatus.RUNNING) {
            obstacles = List.of("the job is " + graph.getState() + ": the plan counts at its start");
        } else if (!slots.waitingFor().isEmpty() && (isCheckpointed() || !isAnyRunning())) {
            // Subtasks wait for slots they may never get. No checkpoint can be taken.
            if (isRested() && stillGood(wanted)) {
                go(wanted, "another plan, for a job that waits for slots");
            }
        } else if (!isCheckpointed()) {
            obstacles =
                    List.of(
                            "checkpointing is off, so a move would lose the job's state: set"
                                    + " execution.checkpointing.interval, or stop the job with a"
                                    + " savepoint and start it from there");
        } else if (isAllRunning()) {
            if (isRested() && stillGood(wanted)) {
                moveTo(wanted, "another plan");
            }
        } else {
            obstacles = List.of("not all subtasks run yet");
        }
    }

    /** Whether the last move is long enough ago; of the plans that come meanwhile the last is used. */
    private boolean isRested() {
        boolean isRested = moves == 0 || msSince(movedNanos) >= REST_MS;
        if (!isRested) {
            obstacles =
                    List.of(
                            "the job was moved a moment ago: there are "
                                    + REST_MS / 1000 + " s at least between two moves");
        }
        return isRested;
    }

    private static long msSince(long nanos) {
        return (System.nanoTime() - nanos) / 1_000_000;
    }

    /** Moves subtasks that run elsewhere back, once their TaskManager has been back for a while. */
    private void comeHome() {
        if (System.currentTimeMillis() - triedToComeHomeMs < agent.options.fallbackAfterMs) {
            return;
        }
        for (ExecutionVertexID each : away(adopted).keySet()) {
            TaskManager home = TaskManagers.latest().at(adopted.locations.get(each));
            boolean isBack =
                    home != null
                            && System.currentTimeMillis() - home.sinceMs
                                    >= agent.options.fallbackAfterMs;
            if (isBack) {
                triedToComeHomeMs = System.currentTimeMillis();
                if (isCheckpointed() && stillGood(adopted)) {
                    moveTo(adopted, home + " is back");
                }
                return;
            }
        }
    }

    private void moveTo(JobPlan plan, String why) {
        LOG.info("edgeplace: {} takes a checkpoint, then is moved: {}", this, why);
        CompletableFuture<?> checkpoint = scheduler.triggerCheckpoint(CheckpointType.CONFIGURED);
        // Only now: it may have thrown. What comes after the checkpoint waits for this thread.
        move = Move.CHECKPOINT;
        obstacles = List.of();
        slots.held.ask(plan, TaskManagers.latest());
        CompletableFuture<Boolean> areSlotsHeld = new CompletableFuture<>();
        lookForSlots(System.nanoTime(), areSlotsHeld);
        CompletableFuture.allOf(checkpoint, areSlotsHeld)
                .whenCompleteAsync(
                        (completed, failure) -> {
                            Turns.Turn turn = agent.turns.begin();
                            try {
                                afterCheckpoint(plan, why, failure, areSlotsHeld.join());
                            } catch (RuntimeException e) {
                                // Nobody asks what became of this future.
                                LOG.error("edgeplace: {} could not be moved", this, e);
                            }
                            turn.end();
                        },
                        scheduler.getMainThreadExecutor());
    }

    /** Completes a future with whether the slots asked for have come in time. */
    private void lookForSlots(long sinceNanos, CompletableFuture<Boolean> found) {
        if (slots.held.areThere()) {
            found.complete(true);
        } else if (msSince(sinceNanos) > SLOTS_WITHIN_MS || hasEnded()) {
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
        move = Move.NONE;
        if (!areSlotsHeld) {
            slots.held.giveBack();
            String problem =
                    "its slots did not come within " + SLOTS_WITHIN_MS / 1000 + " s, another job"
                            + " may have taken them: nothing has moved, write the plan again";
            if (plan == wanted) {
                reject(List.of(problem));
            } else {
                LOG.warn("edgeplace: {} is not moved: {}", this, problem);
            }
            return;
        }
        if (plan != wanted && plan != adopted) {
            return; // Another plan came meanwhile; the next review goes for it.
        }
        if (failure != null && leadsBack(plan)) {
            // Checkpoints may fail for good at the new places: back, as after any failure.
            if (graph.getState() == JobStatus.RUNNING && stillGood(plan)) {
                LOG.warn("edgeplace: {} goes back without a new checkpoint", this, failure);
                go(plan, why + ", without a new checkpoint");
            }
        } else if (failure != null) {
            String cause = ExceptionUtils.stripCompletionException(failure).toString();
            if (plan == wanted) {
                reject(List.of("the checkpoint before the move failed: " + cause));
            } else {
                LOG.warn("edgeplace: {} is not moved, its checkpoint failed: {}", this, cause);
            }
        } else if (graph.getState() == JobStatus.RUNNING && stillGood(plan)) {
            go(plan, why);
        }
    }

    private void go(JobPlan plan, String why) {
        if (isOfThisParallelism(plan)) {
            redeploy(why);
        } else {
            try {
                rescale(plan, why);
            } catch (IllegalStateException e) {
                slots.held.giveBack();
                reject(List.of("the job cannot be rescaled: " + Quote.cut(e.getMessage())));
            }
        }
    }

    private boolean isOfThisParallelism(JobPlan plan) {
        return plan.locations.keySet().equals(Set.copyOf(subtasks()));
    }

    /** Judges a plan again just before it is used: others may have taken its slots meanwhile. */
    private boolean stillGood(JobPlan plan) {
        List<String> problems = problems(plan, true);
        if (!problems.isEmpty() && plan == wanted) {
            reject(problems);
        }
        return problems.isEmpty();
    }

    /** Tells whether a plan is the placement that the last move has left. */
    private boolean leadsBack(JobPlan plan) {
        if (msSince(movedNanos) > WAY_BACK_MS) {
            return false; // Too much would be done again.
        }
        if (!plan.locations.keySet().equals(former.keySet())) {
            return false;
        }
        TaskManagers seen = TaskManagers.latest();
        for (Map.Entry<ExecutionVertexID, String> each : plan.locations.entrySet()) {
            TaskManager planned = seen.at(each.getValue());
            if (planned == null || !planned.resourceId.equals(former.get(each.getKey()))) {
                return false;
            }
        }
        return true;
    }

    private Map<ExecutionVertexID, String> placesNow() {
        Map<ExecutionVertexID, String> places = new HashMap<>();
        for (ExecutionVertexID each : subtasks()) {
            places.put(each, runsAt(each));
        }
        return places;
    }

    private void redeploy(String why) {
        Map<ExecutionVertexID, String> places = placesNow();
        Internals.restartAll(
                scheduler, Set.copyOf(subtasks()), new PlacementChangedException(why));
        // Only now: it may have thrown. Slots are allocated in a later turn of this thread, once
        // all subtasks are cancelled, so beforeAllocation() finds this.
        former = places;
        move = Move.REDEPLOYMENT;
        moves++;
        movedNanos = System.nanoTime();
    }

    /** Has the scheduler replaced by one for the plan, or failing that by one like this again. */
    private void rescale(JobPlan plan, String why) {
        LOG.info("edgeplace: {} is rescaled: {}", this, why);
        Map<ExecutionVertexID, String> places = placesNow();
        Map<JobVertexID, Integer> parallelism = new HashMap<>();
        places.keySet().forEach(each -> parallelism.merge(each.getJobVertexId(), 1, Integer::sum));
        PlanFile file = judged;
        JobPlan own = adopted;
        long nowNanos = System.nanoTime();
        SchedulerReplacement.begin(
                scheduler,
                scheduler.getMainThreadExecutor(),
                plan.parallelism,
                next ->
                        Handover.leave(
                                graph.getJobID(),
                                new Handover(
                                        file, List.of(), plan, places, epoch, moves + 1, nowNanos,
                                        slots.held, next)),
                parallelism,
                cause ->
                        Handover.leave(
                                graph.getJobID(),
                                new Handover(
                                        file, wentBack(cause), own, Map.of(), epoch, moves + 2,
                                        System.nanoTime(), slots.held, null)));
        // Only now: it may have thrown.
        move = Move.RESCALING;
    }

    private static List<String> wentBack(Throwable cause) {
        return List.of(
                "the job did not run in the plan's parallelism, and went back to its former one: "
                        + Quote.cut(String.valueOf(cause)));
    }

    private boolean isCheckpointed() {
        CheckpointCoordinator coordinator = graph.getCheckpointCoordinator();
        return coordinator != null && coordinator.isPeriodicCheckpointingConfigured();
    }

    private boolean isWholeStart(Set<ExecutionVertexID> starting) {
        for (ExecutionVertexID each : subtasks()) {
            if (!starting.contains(each) && state(each) != ExecutionState.CREATED) {
                return false;
            }
        }
        return true;
    }

    private boolean hasRun() {
        return adopted != null
                || isRescaled
                || subtasks().stream()
                        .anyMatch(
                                each ->
                                        scheduler
                                                        .getExecutionVertex(each)
                                                        .getCurrentExecutionAttempt()
                                                        .getAttemptNumber()
                                                > 0);
    }

    private boolean isAnyRunning() {
        return subtasks().stream().anyMatch(each -> state(each) == ExecutionState.RUNNING);
    }

    private boolean isAllRunning() {
        return graph.getState() == JobStatus.RUNNING
                && subtasks().stream().allMatch(each -> isUp(state(each)));
    }

    private static boolean isUp(ExecutionState state) {
        return state == ExecutionState.RUNNING || state == ExecutionState.FINISHED;
    }

    private ExecutionState state(ExecutionVertexID subtask) {
        return scheduler.getExecutionVertex(subtask).getExecutionState();
    }

    /** Returns where subtasks run that do not run where a plan has them, "" for nowhere. */
    private Map<ExecutionVertexID, String> away(JobPlan plan) {
        TaskManagers seen = TaskManagers.latest();
        Map<String, String> idOf = new HashMap<>();
        Map<ExecutionVertexID, String> away = new LinkedHashMap<>();
        plan.locations.forEach(
                (subtask, location) -> {
                    String planned =
                            idOf.computeIfAbsent(
                                    location,
                                    x -> seen.at(x) == null ? "(gone)" : seen.at(x).resourceId);
                    String runsAt = runsAt(subtask);
                    if (!planned.equals(runsAt)) {
                        away.put(subtask, runsAt);
                    }
                });
        return away;
    }

    private String runsAt(ExecutionVertexID subtask) {
        ExecutionVertex vertex = scheduler.getExecutionVertex(subtask);
        TaskManagerLocation location =
                isUp(vertex.getExecutionState()) ? vertex.getCurrentAssignedResourceLocation() : null;
        return location == null ? "" : location.getResourceID().toString();
    }

    private void reportStatus() throws IOException {
        Map<ExecutionVertexID, String> away = adopted == null ? Map.of() : away(adopted);
        List<Map<String, Object>> elsewhere = new ArrayList<>();
        away.forEach(
                (subtask, runsAt) -> {
                    if (!runsAt.isEmpty()) {
                        Map<String, Object> one = new LinkedHashMap<>();
                        one.put(
                                "task",
                                scheduler.getExecutionVertex(subtask).getTaskNameWithSubtaskIndex());
                        one.put("planned", Quote.cut(adopted.locations.get(subtask)));
                        one.put("runs_at", runsAt);
                        elsewhere.add(one);
                    }
                });
        int all = subtasks().size();
        report.write(
                stateName(away.isEmpty()),
                judged,
                adopted == null ? null : adopted.file.sha256,
                reasons(),
                slots.waitingFor(),
                elsewhere,
                all,
                adopted == null ? 0 : all - away.size(),
                moves);
    }

    private List<String> reasons() {
        if (!rejections.isEmpty()) {
            return rejections;
        }
        boolean isRecovering = wanted == null && move == Move.NONE && !isAllRunning();
        return isRecovering && adopted != null && slots.waitingFor().isEmpty()
                ? List.of("no plan has changed: the job is starting or recovering from a failure")
                : obstacles;
    }

    private String stateName(boolean isExact) {
        if (!rejections.isEmpty()) {
            return "rejected";
        }
        if (wanted != null) {
            return isCheckpointed() || !slots.waitingFor().isEmpty() ? "moving" : "pending";
        }
        if (adopted == null) {
            return "unplanned";
        }
        if (!slots.waitingFor().isEmpty()) {
            return "waiting";
        }
        if (move != Move.NONE || !isAllRunning()) {
            return "moving";
        }
        return isExact ? "placed" : "away";
    }
}
