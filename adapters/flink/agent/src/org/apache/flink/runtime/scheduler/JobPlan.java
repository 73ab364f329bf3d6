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
import dev.edgeplace.flink.PlanSettings;

/** A plan that fits a job: where each subtask shall run, and which subtasks share its slot. */
final class JobPlan {
    final PlanFile file;
    /** In the order of the job's topology. */
    final Map<ExecutionVertexID, String> locations;
    /** The parallelism of each vertex. */
    final Map<JobVertexID, Integer> parallelism;
    final PlanSettings settings;

    private final Iterable<SlotSharingGroup> sharing;
    private final SharedSlots slots;

    JobPlan(
            PlanMatch match,
            Map<ExecutionVertexID, String> locations,
            Iterable<SlotSharingGroup> sharing) {
        this.file = match.file;
        this.settings = match.settings;
        this.locations = locations;
        this.parallelism = new HashMap<>();
        locations.keySet().forEach(each -> parallelism.merge(each.getJobVertexId(), 1, Integer::sum));
        this.sharing = sharing;
        this.slots = new SharedSlots(locations, sharing, subtask -> null);
    }

    private JobPlan(JobPlan plan, SharedSlots slots) {
        this.file = plan.file;
        this.settings = plan.settings;
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
