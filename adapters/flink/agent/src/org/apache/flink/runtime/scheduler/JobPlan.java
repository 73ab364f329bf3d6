package org.apache.flink.runtime.scheduler;

import java.util.HashMap;
import java.util.Map;

import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmanager.scheduler.SlotSharingGroup;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlanMatch;

/**
 * A plan that fits a job: where each subtask shall run, and which subtasks share its slot.
 *
 * <p>Subtasks share a slot if they are in one slot sharing group, have one location, and each is the
 * k-th of its vertex there. So the number of slots at a location is the number of subtasks of the
 * vertex with the most subtasks there. Stock Flink counts slots in the same way.
 */
final class JobPlan {
    final PlanFile file;
    /** In the order of the job's topology. */
    final Map<ExecutionVertexID, String> locations;
    /** The parallelism of each vertex. */
    final Map<JobVertexID, Integer> parallelism;
    /** The epoch of the plan's writer, 0 if the plan has none. */
    final long epoch;
    /** The checkpoint interval that the plan asks for, 0 if it asks for none. */
    final long checkpointIntervalMs;

    private final Map<ExecutionVertexID, ExecutionSlotSharingGroup> groups;

    JobPlan(
            PlanMatch match,
            Map<ExecutionVertexID, String> locations,
            Iterable<SlotSharingGroup> sharing) {
        this.file = match.file;
        this.epoch = match.epoch;
        this.checkpointIntervalMs = match.checkpointIntervalMs;
        this.locations = locations;
        this.parallelism = new HashMap<>();
        locations.keySet().forEach(each -> parallelism.merge(each.getJobVertexId(), 1, Integer::sum));
        this.groups = new HashMap<>();
        Map<Object, Integer> count = new HashMap<>();
        Map<Object, ExecutionSlotSharingGroup> made = new HashMap<>();
        locations.forEach(
                (subtask, location) -> {
                    SlotSharingGroup of = sharingGroup(sharing, subtask);
                    int k = count.merge(subtask.getJobVertexId() + "@" + location, 1, Integer::sum);
                    String key = System.identityHashCode(of) + "/" + k + "@" + location;
                    ResourceProfile asked =
                            of == null ? ResourceProfile.UNKNOWN : of.getResourceProfile();
                    ExecutionSlotSharingGroup group =
                            made.computeIfAbsent(
                                    key,
                                    x -> Internals.group(PlannedPlace.profile(location, asked)));
                    group.addVertex(subtask);
                    groups.put(subtask, group);
                });
    }

    private JobPlan(JobPlan said, JobPlan same) {
        this.file = said.file;
        this.epoch = said.epoch;
        this.checkpointIntervalMs = said.checkpointIntervalMs;
        this.locations = same.locations;
        this.parallelism = same.parallelism;
        this.groups = same.groups;
    }

    /** Returns the other plan, which has the same places, with the slot sharing of this one. */
    JobPlan as(JobPlan other) {
        return new JobPlan(other, this);
    }

    ExecutionSlotSharingGroup group(ExecutionVertexID subtask) {
        return groups.get(subtask);
    }

    /** Returns each slot that the plan needs: its location and the resources asked for. */
    Iterable<ResourceProfile> slots() {
        Map<ExecutionSlotSharingGroup, ResourceProfile> slots = new HashMap<>();
        groups.values().forEach(group -> slots.put(group, group.getResourceProfile()));
        return slots.values();
    }

    private static SlotSharingGroup sharingGroup(
            Iterable<SlotSharingGroup> all, ExecutionVertexID subtask) {
        for (SlotSharingGroup each : all) {
            if (each.getJobVertexIds().contains(subtask.getJobVertexId())) {
                return each;
            }
        }
        return null;
    }
}
