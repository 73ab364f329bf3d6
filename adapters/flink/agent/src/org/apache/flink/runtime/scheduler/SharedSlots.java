package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmanager.scheduler.SlotSharingGroup;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

/**
 * The slots of a plan, and the subtasks that share each.
 *
 * <p>Subtasks share a slot if they are in one slot sharing group and have one location. The number
 * of slots at a location is the number of subtasks of the vertex with the most subtasks there. Stock
 * Flink counts slots in the same way. Subtasks that had a slot there stay together in it as far as
 * possible: local recovery finds their state in the slot.
 */
final class SharedSlots {
    private final Map<ExecutionVertexID, ExecutionSlotSharingGroup> groups = new HashMap<>();

    /**
     * Deals subtasks to slots.
     *
     * @param locations the planned location of each subtask
     * @param sharing the slot sharing groups of the job
     * @param formerSlots returns the slot that a subtask had at its planned location, or null
     */
    SharedSlots(
            Map<ExecutionVertexID, String> locations,
            Iterable<SlotSharingGroup> sharing,
            Function<ExecutionVertexID, AllocationID> formerSlots) {
        Map<JobVertexID, SlotSharingGroup> groupOf = new HashMap<>();
        sharing.forEach(group -> group.getJobVertexIds().forEach(id -> groupOf.put(id, group)));
        Map<String, List<ExecutionVertexID>> together = new LinkedHashMap<>();
        locations.forEach(
                (subtask, location) -> {
                    SlotSharingGroup group = groupOf.get(subtask.getJobVertexId());
                    String key = System.identityHashCode(group) + "@" + location;
                    together.computeIfAbsent(key, x -> new ArrayList<>()).add(subtask);
                });
        for (List<ExecutionVertexID> subtasks : together.values()) {
            ExecutionVertexID first = subtasks.get(0);
            SlotSharingGroup group = groupOf.get(first.getJobVertexId());
            ResourceProfile asked =
                    group == null ? ResourceProfile.UNKNOWN : group.getResourceProfile();
            ResourceProfile profile = PlannedPlace.profile(locations.get(first), asked);
            for (Set<ExecutionVertexID> slot : deal(subtasks, formerSlots)) {
                ExecutionSlotSharingGroup shared = Internals.group(profile);
                slot.forEach(shared::addVertex);
                slot.forEach(each -> groups.put(each, shared));
            }
        }
    }

    ExecutionSlotSharingGroup of(ExecutionVertexID subtask) {
        return groups.get(subtask);
    }

    Collection<ExecutionSlotSharingGroup> all() {
        return new HashSet<>(groups.values());
    }

    private static Collection<Set<ExecutionVertexID>> deal(
            List<ExecutionVertexID> subtasks,
            Function<ExecutionVertexID, AllocationID> formerSlots) {
        Map<JobVertexID, Integer> counts = new HashMap<>();
        Map<AllocationID, Set<ExecutionVertexID>> stayed = new LinkedHashMap<>();
        for (ExecutionVertexID each : subtasks) {
            counts.merge(each.getJobVertexId(), 1, Integer::sum);
            AllocationID former = formerSlots.apply(each);
            if (former != null) {
                stayed.computeIfAbsent(former, x -> new HashSet<>()).add(each);
            }
        }
        int most = counts.values().stream().mapToInt(each -> each).max().orElse(0);
        List<Set<ExecutionVertexID>> slots = new ArrayList<>(stayed.values());
        slots.sort((a, b) -> b.size() - a.size());
        slots = slots.subList(0, Math.min(most, slots.size()));
        Set<ExecutionVertexID> dealt = new HashSet<>();
        slots.forEach(dealt::addAll);
        List<Set<ExecutionVertexID>> all = new ArrayList<>(slots);
        while (all.size() < most) {
            all.add(new HashSet<>());
        }
        for (ExecutionVertexID each : subtasks) {
            if (!dealt.contains(each)) {
                all.stream().filter(slot -> !has(slot, each.getJobVertexId())).findFirst().get()
                        .add(each);
            }
        }
        return all;
    }

    private static boolean has(Set<ExecutionVertexID> slot, JobVertexID vertex) {
        return slot.stream().anyMatch(each -> each.getJobVertexId().equals(vertex));
    }
}
