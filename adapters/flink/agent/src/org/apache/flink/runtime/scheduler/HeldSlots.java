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
 * Slots that a job gets before it needs them: they are in its pool, and no other job can take them
 * while this one is cancelled and deployed again. All methods run in the JobMaster's main thread.
 *
 * <p>Where a job holds slots of another size at a TaskManager, as stock Flink gave it, these make
 * room for the new ones once the job has left them; such slots are not held before.
 */
final class HeldSlots {
    private final DeclarativeSlotPool pool;
    /** How many slots of each size a plan needs that the job has or is to get first. */
    private final Map<ResourceProfile, Integer> expected = new HashMap<>();
    /** Asked for beyond what the job's subtasks have asked for. */
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
                    spare--; // The job itself makes room for this one.
                } else {
                    asked++; // Room may have been made since the TaskManagers were looked at.
                }
            }
            int expectedHere = there + asked;
            // Slots that no subtask has asked for, as those of FINISHED ones, are held too.
            int more = expectedHere - required.getOrDefault(each.getKey(), 0);
            if (more > 0) {
                held = held.add(each.getKey(), more);
            }
            expected.put(each.getKey(), expectedHere);
        }
    }

    /** Whether all that has been asked for is there. */
    boolean areThere() {
        Map<ResourceProfile, Integer> has = new HashMap<>();
        for (SlotInfo each : pool.getAllSlotsInformation()) {
            has.merge(each.getResourceProfile(), 1, Integer::sum);
        }
        return expected.entrySet().stream()
                .allMatch(each -> has.getOrDefault(each.getKey(), 0) >= each.getValue());
    }

    /** Called before a subtask asks for a slot itself. */
    void use(ResourceProfile size) {
        if (held.getResourceCount(size) > 0) {
            held = held.subtract(size, 1);
            pool.decreaseResourceRequirementsBy(ResourceCounter.withResource(size, 1));
        }
    }

    /** Gives back what no subtask has asked for. */
    void giveBack() {
        expected.clear();
        if (!held.isEmpty()) {
            pool.decreaseResourceRequirementsBy(held);
            held = ResourceCounter.empty();
            Internals.releaseIdleSlots(pool);
        }
    }

    /** Returns the size by which a slot of a plan is asked for. */
    static ResourceProfile fingerprint(ResourceProfile planned, TaskManager at) {
        return SlotFingerprints.of(at.resourceId, PlannedPlace.size(planned, at.defaultSlot));
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
