package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.apache.flink.runtime.scheduler.strategy.SchedulingExecutionVertex;
import org.apache.flink.runtime.taskmanager.TaskManagerLocation;

import dev.edgeplace.flink.TaskManagers;

/**
 * The subtasks of a job under one scheduler: their states and their places. It changes nothing.
 *
 * <p>All methods run in the JobMaster's main thread.
 */
final class Subtasks {
    private final DefaultScheduler scheduler;
    private final ExecutionSlotAllocationContext context;
    private final ExecutionGraph graph;
    /** The slot of each subtask under the former scheduler; empty if there was none. */
    private Map<ExecutionVertexID, AllocationID> slotsBefore = Map.of();

    Subtasks(DefaultScheduler scheduler, ExecutionSlotAllocationContext context) {
        this.scheduler = scheduler;
        this.context = context;
        this.graph = scheduler.getExecutionGraph();
    }

    Collection<ExecutionVertexID> all() {
        List<ExecutionVertexID> all = new ArrayList<>();
        for (SchedulingExecutionVertex each : context.getSchedulingTopology().getVertices()) {
            all.add(each.getId());
        }
        return all;
    }

    /** Tells whether a plan has the parallelism of this job. */
    boolean areThoseOf(JobPlan plan) {
        return plan.locations.keySet().equals(Set.copyOf(all()));
    }

    /** Tells whether the job is RUNNING and all subtasks run or have FINISHED. */
    boolean areAllUp() {
        return graph.getState() == JobStatus.RUNNING
                && all().stream().allMatch(each -> isUp(state(each)));
    }

    /** Tells whether all subtasks read their state, run or have FINISHED. */
    boolean areAllDeployed() {
        return all().stream()
                .allMatch(each -> state(each) == ExecutionState.INITIALIZING || isUp(state(each)));
    }

    /** Returns when the last of all subtasks began to run, if all do. */
    long allRunSinceMs() {
        return all().stream()
                .mapToLong(
                        each ->
                                scheduler
                                        .getExecutionVertex(each)
                                        .getCurrentExecutionAttempt()
                                        .getStateTimestamp(ExecutionState.RUNNING))
                .max()
                .orElse(0);
    }

    boolean isAnyRunning() {
        return all().stream().anyMatch(each -> state(each) == ExecutionState.RUNNING);
    }

    /** Tells whether the job starts as a whole, when these subtasks start. */
    boolean isWholeStart(Set<ExecutionVertexID> starting) {
        for (ExecutionVertexID each : all()) {
            if (!starting.contains(each) && state(each) != ExecutionState.CREATED) {
                return false;
            }
        }
        return true;
    }

    boolean isAnyRestarted() {
        return all().stream()
                .anyMatch(
                        each ->
                                scheduler
                                                .getExecutionVertex(each)
                                                .getCurrentExecutionAttempt()
                                                .getAttemptNumber()
                                        > 0);
    }

    boolean areCheckpointed() {
        CheckpointCoordinator coordinator = graph.getCheckpointCoordinator();
        return coordinator != null && coordinator.isPeriodicCheckpointingConfigured();
    }

    /** Returns when the last completed checkpoint began: whoever took part was alive then; 0: none. */
    long checkpointedMs() {
        CheckpointStatsSnapshot statistics = graph.getCheckpointStatsSnapshot();
        CompletedCheckpointStats last =
                statistics == null ? null : statistics.getHistory().getLatestCompletedCheckpoint();
        return last == null ? 0 : last.getTriggerTimestamp();
    }

    /** Returns the TaskManager of each subtask, "" if the subtask does not run. */
    Map<ExecutionVertexID, String> places() {
        Map<ExecutionVertexID, String> places = new HashMap<>();
        for (ExecutionVertexID each : all()) {
            places.put(each, place(each));
        }
        return places;
    }

    /** Returns the slot that each subtask has or had last, in this or in the former scheduler. */
    Map<ExecutionVertexID, AllocationID> slots() {
        Map<ExecutionVertexID, AllocationID> slots = new HashMap<>();
        for (ExecutionVertexID each : all()) {
            AllocationID slot = slot(each);
            if (slot != null) {
                slots.put(each, slot);
            }
        }
        return slots;
    }

    /** Returns the slot that a subtask has or had last, or null. */
    AllocationID slot(ExecutionVertexID subtask) {
        return scheduler
                .getExecutionVertex(subtask)
                .findLastAllocation()
                .orElseGet(() -> slotsBefore.get(subtask));
    }

    /** Continues with what the former scheduler of the job has left. */
    void takeOver(Handover handover) {
        slotsBefore = handover.formerSlots;
    }

    /** Returns the subtasks that do not run where a plan says, and where they run; "" if nowhere. */
    Map<ExecutionVertexID, String> away(JobPlan plan) {
        TaskManagers seen = TaskManagers.latest();
        Map<String, Set<String>> idsAt = new HashMap<>();
        Map<ExecutionVertexID, String> away = new LinkedHashMap<>();
        plan.locations.forEach(
                (subtask, location) -> {
                    String place = place(subtask);
                    if (!idsAt.computeIfAbsent(location, seen::idsAt).contains(place)) {
                        away.put(subtask, place);
                    }
                });
        return away;
    }

    /** Returns the name of a subtask, such as {@code map (1/2)}. */
    String name(ExecutionVertexID subtask) {
        return scheduler.getExecutionVertex(subtask).getTaskNameWithSubtaskIndex();
    }

    private String place(ExecutionVertexID subtask) {
        ExecutionVertex vertex = scheduler.getExecutionVertex(subtask);
        TaskManagerLocation location =
                isUp(vertex.getExecutionState()) ? vertex.getCurrentAssignedResourceLocation() : null;
        return location == null ? "" : location.getResourceID().toString();
    }

    private ExecutionState state(ExecutionVertexID subtask) {
        return scheduler.getExecutionVertex(subtask).getExecutionState();
    }

    private static boolean isUp(ExecutionState state) {
        return state == ExecutionState.RUNNING || state == ExecutionState.FINISHED;
    }
}
