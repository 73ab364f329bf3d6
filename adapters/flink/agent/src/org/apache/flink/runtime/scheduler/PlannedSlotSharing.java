package org.apache.flink.runtime.scheduler;

import java.util.HashSet;
import java.util.Set;

import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

/** Says which subtasks share a slot: by the plan if the job follows one, else as stock Flink. */
final class PlannedSlotSharing implements SlotSharingStrategy {
    private final SlotSharingStrategy stock;
    private final JobPlacement job;

    PlannedSlotSharing(SlotSharingStrategy stock, JobPlacement job) {
        this.stock = stock;
        this.job = job;
    }

    @Override
    public ExecutionSlotSharingGroup getExecutionSlotSharingGroup(ExecutionVertexID subtask) {
        ExecutionSlotSharingGroup planned = job.group(subtask);
        return planned != null ? planned : stock.getExecutionSlotSharingGroup(subtask);
    }

    @Override
    public Set<ExecutionSlotSharingGroup> getExecutionSlotSharingGroups() {
        Set<ExecutionSlotSharingGroup> groups = new HashSet<>();
        for (ExecutionVertexID subtask : job.subtasks()) {
            groups.add(getExecutionSlotSharingGroup(subtask));
        }
        return groups;
    }
}
