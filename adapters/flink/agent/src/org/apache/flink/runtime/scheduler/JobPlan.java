package org.apache.flink.runtime.scheduler;

import java.util.HashMap;
import java.util.Map;

import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.jobmanager.scheduler.SlotSharingGroup;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlanFile;

/**
 * A plan that fits a job: where each subtask shall run, and with whom it shares a slot.
 *
 * <p>Subtasks share a slot if they are of one slot sharing group, are planned at one location, and
 * each is the k-th of its vertex there: as many slots as the vertex with most subtasks there needs,
 * just as stock Flink counts slots.
 */
final class JobPlan {
    final PlanFile file;
    /** In the order of the job's topology. */
    final Map<ExecutionVertexID, String> locations;

    private final Map<ExecutionVertexID, ExecutionSlotSharingGroup> groups;

    JobPlan(
            PlanFile file,
            Map<ExecutionVertexID, String> locations,
            Iterable<SlotSharingGroup> sharing) {
        this.file = file;
        this.locations = locations;
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

    private JobPlan(PlanFile file, JobPlan same) {
        this.file = file;
        this.locations = same.locations;
        this.groups = same.groups;
    }

    /** Returns the same plan, from another file. */
    JobPlan from(PlanFile other) {
        return new JobPlan(other, this);
    }

    ExecutionSlotSharingGroup group(ExecutionVertexID subtask) {
        return groups.get(subtask);
    }

    /** Returns each slot that the plan needs: its location and what the user asked of it. */
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
