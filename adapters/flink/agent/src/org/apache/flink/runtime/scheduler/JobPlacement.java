package org.apache.flink.runtime.scheduler;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.clusterframework.types.SlotProfile;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.Cordons;
import dev.edgeplace.flink.Options;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlannedJob;
import dev.edgeplace.flink.Quote;
import dev.edgeplace.flink.Succession;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.TaskManagers.TaskManager;
import dev.edgeplace.flink.Turns;

/**
 * The placement of one job under one scheduler. It decides when the job gets a plan and when it
 * moves, places the subtasks, and reports the status. {@link JobPlans} has the plans, {@link
 * JobMove} moves the job.
 *
 * <p>Its state belongs to the JobMaster's main thread.
 */
final class JobPlacement implements PlannedJob {
    private static final Logger LOG = LoggerFactory.getLogger(JobPlacement.class);

    private final DefaultScheduler scheduler;
    private final Agent agent;
    private final ExecutionGraph graph;
    private final StatusReport report;
    private final JobGauges gauges;
    private final PlanReader reader;
    private final Subtasks subtasks;
    private final JobPlans plans;
    private final Succession succession;
    private PlannedSlotProvider slots;
    private JobMove move;

    /** The groups of the subtasks that were placed by a plan: each group shares a slot. */
    private final Map<ExecutionVertexID, ExecutionSlotSharingGroup> groups = new HashMap<>();
    /** The slots where local recovery finds the state of the subtasks that start. */
    private Map<ExecutionVertexID, AllocationID> formerSlots = Map.of();
    /** Why the job does not move to the wanted plan now. */
    private List<String> obstacles = List.of();
    private long triedToReturnMs;
    /** What a former scheduler of the job has left; null after the first start. */
    private Handover handover;

    JobPlacement(DefaultScheduler scheduler, ExecutionSlotAllocationContext context, Agent agent) {
        this.scheduler = scheduler;
        this.agent = agent;
        this.graph = scheduler.getExecutionGraph();
        this.report = new StatusReport(agent.plans, jobId(), jobName());
        this.gauges = JobGauges.of(scheduler.jobManagerJobMetricGroup);
        String fixedBecause = agent.noRescalingBecause();
        this.reader = new PlanReader(() -> JobShape.of(graph, context, fixedBecause));
        this.subtasks = new Subtasks(scheduler, context);
        this.succession = remembered();
        this.plans = new JobPlans(agent, this, graph, subtasks, reader, succession);
        this.handover = Handover.take(graph.getJobID());
    }

    private Succession remembered() {
        try {
            return Succession.of(agent.plans, jobId());
        } catch (IOException e) {
            LOG.warn("edgeplace: who had the places of {} is not known any more", this, e);
            return Succession.ofNothing(agent.plans, jobId());
        }
    }

    /** Returns the provider of the job's slots from now on. */
    PlannedSlotProvider start(PhysicalSlotProvider stock) {
        slots = new PlannedSlotProvider(stock, this, handover == null ? null : handover.held);
        move = new JobMove(scheduler, agent, plans, subtasks, slots.held);
        if (handover != null) {
            plans.takeOver(handover);
            move.takeOver(handover);
            subtasks.takeOver(handover);
        }
        agent.watch(this);
        return slots;
    }

    Options options() {
        return agent.options;
    }

    /** Tells whether the job has never run: it gets no slots where nothing new is put. */
    boolean isNew() {
        return plans.isNew();
    }

    /** Returns who has the places of the job's plan where a host has several TaskManagers. */
    Succession succession() {
        return succession;
    }

    Cordons cordons() {
        return agent.cordons;
    }

    Collection<ExecutionVertexID> subtasks() {
        return subtasks.all();
    }

    /** Returns the subtasks that share a slot with this one by a plan, or null. */
    ExecutionSlotSharingGroup group(ExecutionVertexID subtask) {
        return groups.get(subtask);
    }

    /**
     * Called before slots are allocated for subtasks, which do not run. A job that starts as a
     * whole follows the newest plan. A part of a job that is restarted stays at its planned places.
     */
    void beforeAllocation(Set<ExecutionVertexID> starting) {
        Turns.Turn turn = agent.turns.begin();
        boolean isWholeStart = subtasks.isWholeStart(starting);
        try {
            if (isWholeStart) {
                adoptAtStart();
            }
        } catch (IOException | RuntimeException e) {
            // The job starts in any case, where it was placed before.
            LOG.error("edgeplace: the plan of {} cannot be used", this, e);
            plans.fail(e);
        }
        if (plans.adopted() != null) {
            formerSlots = formerSlots();
            if (isWholeStart) {
                plans.keep(formerSlots::get);
            }
            for (ExecutionVertexID each : starting) {
                groups.put(each, plans.adopted().group(each));
            }
        }
        move.slotsAreAsked();
        turn.end();
    }

    /** Returns the slot that each subtask had, if the job holds it and it is where the plan says. */
    private Map<ExecutionVertexID, AllocationID> formerSlots() {
        Map<ExecutionVertexID, AllocationID> found = new HashMap<>();
        Map<AllocationID, String> held = slots.slots();
        TaskManagers seen = TaskManagers.latest();
        plans.adopted().locations.forEach(
                (subtask, location) -> {
                    AllocationID slot = subtasks.slot(subtask);
                    if (slot != null && seen.idsAt(location).contains(held.get(slot))) {
                        found.put(subtask, slot);
                    }
                });
        return found;
    }

    /** Asks for the slot where local recovery finds the most state of a group, if it is planned. */
    SlotProfile preferFormerSlot(ExecutionSlotSharingGroup group, SlotProfile asked) {
        ResourceProfile size = asked.getPhysicalSlotResourceProfile();
        if (PlannedPlace.location(size) == null) {
            return asked;
        }
        Map<AllocationID, Integer> counts = new HashMap<>();
        for (ExecutionVertexID each : group.getExecutionVertexIds()) {
            AllocationID slot = formerSlots.get(each);
            if (slot != null) {
                counts.merge(slot, 1, Integer::sum);
            }
        }
        List<AllocationID> preferred = new ArrayList<>();
        counts.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .ifPresent(most -> preferred.add(most.getKey()));
        return SlotProfile.priorAllocation(
                size, size, asked.getPreferredLocations(), preferred, Set.of());
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
            if (plans.judge(plan)) {
                obstacles = List.of();
            }
            if (subtasks.areAllUp()) {
                plans.hasRun();
                rememberHolders();
            }
            slots.review();
            if (move.watchTrial(slots.waitingFor())) {
                obstacles = List.of();
                if (plans.adopted() != null) {
                    plans.settle();
                }
            }
            if (!move.isUnderWay() && slots.waitingFor().isEmpty()) {
                slots.held.giveBack();
            }
            if (move.isOnTrial()) {
                obstacles = List.of("the job is being rescaled");
            } else if (plans.wanted() != null && !move.isUnderWay()) {
                follow(plans.wanted());
            } else if (plans.adopted() != null && !move.isUnderWay() && subtasks.areAllUp()) {
                returnFromFallback();
            }
            reportStatus();
        } catch (IOException | RuntimeException e) {
            LOG.error("edgeplace: the placement of {} could not be looked after", this, e);
        }
        turn.end();
    }

    /** Notes, while all subtasks run, which TaskManagers have the places of the plan. */
    private void rememberHolders() {
        if (plans.adopted() == null) {
            return;
        }
        TaskManagers seen = TaskManagers.latest();
        Map<ExecutionVertexID, String> places = subtasks.places();
        Map<String, Set<String>> holders = new HashMap<>();
        plans.adopted()
                .locations
                .forEach(
                        (subtask, location) ->
                                holders.computeIfAbsent(location, x -> new HashSet<>())
                                        .add(places.get(subtask)));
        long aliveMs = subtasks.checkpointedMs();
        holders.forEach(
                (location, ids) -> {
                    String id = ids.size() == 1 ? ids.iterator().next() : "";
                    if (seen.idsAt(location).contains(id)) {
                        succession.hold(location, id, seen.idsAt(location, aliveMs));
                    }
                });
        try {
            succession.keep(holders.keySet());
        } catch (IOException e) {
            LOG.warn("edgeplace: who has the places of {} is not kept", this, e);
        }
    }

    private void adoptAtStart() throws IOException {
        JobPlan before = plans.adopted();
        if (handover == null) {
            plans.chooseAtStart();
        } else {
            if (handover.plan != null) {
                plans.adopt(handover.plan);
            }
            handover = null;
        }
        if (plans.adopted() == before) {
            return;
        }
        obstacles = List.of();
        if (!move.isOnTrial()) {
            plans.settle();
        }
        // Unused slots of the former placement may be in the way of other jobs and of this one.
        // After all requests of this start are made, it is known which slots these are.
        scheduler.getMainThreadExecutor().execute(slots::releaseIdleSlots);
    }

    private void adoptWithoutMove(JobPlan plan) {
        plans.adopt(plan);
        plans.settle();
        obstacles = List.of();
    }

    /** Brings a running job to a plan. */
    private void follow(JobPlan wanted) {
        JobPlan adopted = plans.adopted();
        boolean isWaiting = !slots.waitingFor().isEmpty();
        if (adopted != null && wanted.locations.equals(adopted.locations)) {
            // The places are the same, so subtasks that share a slot go on to share it.
            adoptWithoutMove(adopted.as(wanted));
        } else if (subtasks.areThoseOf(wanted)
                && subtasks.areAllUp()
                && subtasks.away(wanted).isEmpty()) {
            adoptWithoutMove(wanted); // The next fail-over follows it.
        } else if (graph.getState() != JobStatus.RUNNING) {
            obstacles = List.of("the job is " + graph.getState() + ": the plan counts at its start");
        } else if (isWaiting && (subtasks.areCheckpointed() || !subtasks.isAnyRunning())) {
            // Subtasks wait for slots that may never come. No checkpoint can be taken.
            if (canMoveTo(wanted)) {
                move.skipCheckpoint(wanted, "another plan, for a job that waits for slots");
            }
        } else if (!subtasks.areCheckpointed()) {
            obstacles =
                    List.of(
                            "checkpointing is off, so a move would lose the job's state: set"
                                    + " execution.checkpointing.interval, or stop the job with a"
                                    + " savepoint and start it from there");
        } else if (!subtasks.areAllUp()) {
            obstacles = List.of("not all subtasks run yet");
        } else if (canMoveTo(wanted)) {
            obstacles = List.of();
            move.begin(wanted, "another plan");
        }
    }

    private boolean canMoveTo(JobPlan plan) {
        String restNeeded = move.restNeeded();
        if (restNeeded != null) {
            obstacles = List.of(restNeeded);
        }
        return restNeeded == null && plans.isStillGood(plan);
    }

    /** Moves subtasks back that run elsewhere, some time after their TaskManager is back. */
    private void returnFromFallback() {
        if (System.currentTimeMillis() - triedToReturnMs < agent.options.fallbackAfterMs) {
            return;
        }
        JobPlan adopted = plans.adopted();
        for (ExecutionVertexID each : subtasks.away(adopted).keySet()) {
            TaskManager planned = TaskManagers.latest().at(adopted.locations.get(each));
            boolean isBack =
                    planned != null
                            && System.currentTimeMillis() - planned.sinceMs
                                    >= agent.options.fallbackAfterMs;
            if (isBack) {
                triedToReturnMs = System.currentTimeMillis();
                if (subtasks.areCheckpointed() && plans.isStillGood(adopted)) {
                    move.begin(adopted, planned + " is back");
                }
                return;
            }
        }
    }

    private void reportStatus() throws IOException {
        JobPlan adopted = plans.adopted();
        Map<ExecutionVertexID, String> away = adopted == null ? Map.of() : subtasks.away(adopted);
        List<Map<String, Object>> elsewhere = new ArrayList<>();
        away.forEach(
                (subtask, runsAt) -> {
                    if (!runsAt.isEmpty()) {
                        Map<String, Object> one = new LinkedHashMap<>();
                        one.put("task", subtasks.name(subtask));
                        one.put("planned", Quote.cut(adopted.locations.get(subtask)));
                        one.put("runs_at", runsAt);
                        elsewhere.add(one);
                    }
                });
        int all = subtasks().size();
        int exact = adopted == null ? 0 : all - away.size();
        report.write(
                stateName(away.isEmpty()),
                plans.judged(),
                adopted == null ? null : adopted.file.sha256,
                reasons(),
                slots.waitingFor(),
                elsewhere,
                all,
                exact,
                move.count());
        gauges.setPlaces(all, adopted == null ? 0 : all, exact, elsewhere.size());
        gauges.setMoves(move.count(), move.lastMs());
        gauges.setPlan(adopted);
    }

    private List<String> reasons() {
        if (!plans.rejections().isEmpty()) {
            return plans.rejections();
        }
        List<String> whyWaiting = slots.whyWaiting();
        if (!whyWaiting.isEmpty()) {
            return whyWaiting;
        }
        String keptWaiting = agent.cordons.whyKeptWaiting(jobId());
        if (plans.adopted() == null && keptWaiting != null) {
            return List.of(keptWaiting);
        }
        boolean isRecovering =
                plans.wanted() == null && !move.isUnderWay() && !subtasks.areAllUp();
        return isRecovering && plans.adopted() != null && slots.waitingFor().isEmpty()
                ? List.of("no plan has changed: the job is starting or recovering from a failure")
                : obstacles;
    }

    private String stateName(boolean isExact) {
        boolean isWaiting = !slots.waitingFor().isEmpty();
        if (!plans.rejections().isEmpty()) {
            return "rejected";
        }
        if (plans.wanted() != null) {
            return subtasks.areCheckpointed() || isWaiting ? "moving" : "pending";
        }
        if (plans.adopted() == null) {
            return "unplanned";
        }
        if (isWaiting) {
            return "waiting";
        }
        if (move.isUnderWay() || !subtasks.areAllUp()) {
            return "moving";
        }
        return isExact ? "placed" : "away";
    }
}
