package org.apache.flink.runtime.scheduler;

import java.util.HashMap;
import java.util.Map;

import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.jobmaster.SlotInfo;
import org.apache.flink.runtime.jobmaster.slotpool.DeclarativeSlotPool;
import org.apache.flink.runtime.slots.ResourceRequirement;
import org.apache.flink.runtime.util.ResourceCounter;

import dev.edgeplace.flink.SlotFingerprints;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.TaskManagers.TaskManager;

/**
 * Gets slots for a job before it needs them. The slots are in the job's pool, so no other job can
 * take them while this job is cancelled and deployed again. All methods run in the JobMaster's main
 * thread.
 *
 * <p>A job that stock Flink has placed holds slots of another size. These slots make room for the
 * new ones after the job has left them. Such new slots are not held.
 */
final class HeldSlots {
    private final DeclarativeSlotPool pool;
    /** For each size, the number of slots that must be in the pool before the job moves. */
    private final Map<ResourceProfile, Integer> expected = new HashMap<>();
    /** The requirements that this object has added to those of the job's subtasks. */
    private ResourceCounter held = ResourceCounter.empty();

    HeldSlots(DeclarativeSlotPool pool) {
        this.pool = pool;
    }

    /** Asks for the slots that a plan needs and the job does not have. */
    void ask(JobPlan plan, TaskManagers seen) {
        giveBack();
        Map<TaskManager, Map<ResourceProfile, Integer>> needed = new HashMap<>();
        for (ResourceProfile slot : plan.slots()) {
            TaskManager at = seen.at(PlannedPlace.location(slot));
            if (at != null) {
                needed.computeIfAbsent(at, x -> new HashMap<>())
                        .merge(fingerprint(slot, at), 1, Integer::sum);
            }
        }
        Map<ResourceProfile, Integer> required = new HashMap<>();
        for (ResourceRequirement each : pool.getResourceRequirements()) {
            required.put(each.getResourceProfile(), each.getNumberOfRequiredSlots());
        }
        needed.forEach((at, slots) -> ask(at, slots, required));
        if (!held.isEmpty()) {
            pool.increaseResourceRequirementsBy(held);
        }
    }

    private void ask(
            TaskManager at,
            Map<ResourceProfile, Integer> needed,
            Map<ResourceProfile, Integer> required) {
        Map<ResourceProfile, Integer> has = slotsAt(at);
        int spare = has.values().stream().mapToInt(each -> each).sum();
        for (Map.Entry<ResourceProfile, Integer> each : needed.entrySet()) {
            spare -= Math.min(has.getOrDefault(each.getKey(), 0), each.getValue());
        }
        ResourceProfile room = at.available;
        for (Map.Entry<ResourceProfile, Integer> each : needed.entrySet()) {
            int there = Math.min(has.getOrDefault(each.getKey(), 0), each.getValue());
            int asked = 0;
            for (int lacking = each.getValue() - there; lacking > 0; lacking--) {
                if (room.allFieldsNoLessThan(each.getKey())) {
                    room = room.subtract(each.getKey());
                    asked++;
                } else if (spare > 0) {
                    spare--; // A slot of the job makes room for this one.
                } else {
                    asked++; // The snapshot is old: there may be room now.
                }
            }
            int expectedHere = there + asked;
            // No subtask requires the slots of FINISHED subtasks: this object holds them, too.
            int more = expectedHere - required.getOrDefault(each.getKey(), 0);
            if (more > 0) {
                held = held.add(each.getKey(), more);
            }
            expected.put(each.getKey(), expectedHere);
        }
    }

    /** Tells whether all slots that the plan needs are in the pool. */
    boolean areThere() {
        Map<ResourceProfile, Integer> has = new HashMap<>();
        for (SlotInfo each : pool.getAllSlotsInformation()) {
            has.merge(each.getResourceProfile(), 1, Integer::sum);
        }
        return expected.entrySet().stream()
                .allMatch(each -> has.getOrDefault(each.getKey(), 0) >= each.getValue());
    }

    /** Called before a subtask asks for a slot of its own. */
    void use(ResourceProfile size) {
        if (held.getResourceCount(size) > 0) {
            held = held.subtract(size, 1);
            pool.decreaseResourceRequirementsBy(ResourceCounter.withResource(size, 1));
        }
    }

    /** Gives the slots back that no subtask has asked for. */
    void giveBack() {
        expected.clear();
        if (!held.isEmpty()) {
            pool.decreaseResourceRequirementsBy(held);
            held = ResourceCounter.empty();
            Internals.releaseIdleSlots(pool);
        }
    }

    /** Returns the size of a planned slot; it means one TaskManager. */
    static ResourceProfile fingerprint(ResourceProfile planned, TaskManager at) {
        return SlotFingerprints.of(at.resourceId, PlannedPlace.size(planned, at.defaultSlot));
    }

    boolean hasSlotsAt(TaskManager at) {
        return !slotsAt(at).isEmpty();
    }

    private Map<ResourceProfile, Integer> slotsAt(TaskManager at) {
        Map<ResourceProfile, Integer> has = new HashMap<>();
        for (SlotInfo each : pool.getAllSlotsInformation()) {
            if (each.getTaskManagerLocation().getResourceID().toString().equals(at.resourceId)) {
                has.merge(each.getResourceProfile(), 1, Integer::sum);
            }
        }
        return has;
    }
}
