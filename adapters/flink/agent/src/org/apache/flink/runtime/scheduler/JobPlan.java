package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmanager.scheduler.SlotSharingGroup;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlanMatch;

/** A plan that fits a job: where each subtask shall run, and which subtasks share its slot. */
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

    private final Iterable<SlotSharingGroup> sharing;
    private final SharedSlots slots;

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
        this.sharing = sharing;
        this.slots = new SharedSlots(locations, sharing, subtask -> null);
    }

    private JobPlan(JobPlan plan, SharedSlots slots) {
        this.file = plan.file;
        this.epoch = plan.epoch;
        this.checkpointIntervalMs = plan.checkpointIntervalMs;
        this.locations = plan.locations;
        this.parallelism = plan.parallelism;
        this.sharing = plan.sharing;
        this.slots = slots;
    }

    /** Returns the other plan, which has the same places, with the slot sharing of this one. */
    JobPlan as(JobPlan other) {
        return new JobPlan(other, slots);
    }

    /** Returns this plan; subtasks that had a slot at their location share that slot again. */
    JobPlan keeping(Function<ExecutionVertexID, AllocationID> formerSlots) {
        return new JobPlan(this, new SharedSlots(locations, sharing, formerSlots));
    }

    ExecutionSlotSharingGroup group(ExecutionVertexID subtask) {
        return slots.of(subtask);
    }

    /** Returns each slot that the plan needs: its location and the resources asked for. */
    Iterable<ResourceProfile> slots() {
        List<ResourceProfile> profiles = new ArrayList<>();
        slots.all().forEach(each -> profiles.add(each.getResourceProfile()));
        return profiles;
    }
}
