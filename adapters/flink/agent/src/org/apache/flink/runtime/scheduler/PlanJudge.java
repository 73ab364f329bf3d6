package org.apache.flink.runtime.scheduler;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;

import dev.edgeplace.flink.Cordons;
import dev.edgeplace.flink.Problems;
import dev.edgeplace.flink.Quote;
import dev.edgeplace.flink.Succession;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.TaskManagers.TaskManager;

/** Checks a plan that fits its job: are its TaskManagers registered, and have they enough slots? */
final class PlanJudge {
    private PlanJudge() {}

    /**
     * Returns what is wrong with a plan, where, and the cure; empty if it can be used.
     *
     * @param closed the TaskManagers where nothing new is put; null if the plan leads back
     * @param known the former holders of the job's places
     * @param isRunning whether the job runs now; then all that the plan needs must be there, while
     *     a job that starts can wait for TaskManagers and slots
     */
    static List<String> problems(
            JobPlan plan,
            JobID job,
            TaskManagers taskManagers,
            Cordons closed,
            Succession known,
            boolean isRunning) {
        Problems problems = new Problems();
        checkLocations(
                new LinkedHashSet<>(plan.locations.values()), taskManagers, known, isRunning, problems);
        if (problems.isEmpty()) {
            checkRoom(plan, job, taskManagers, closed, known, isRunning, problems);
        }
        return problems.listed();
    }

    private static void checkLocations(
            Set<String> locations,
            TaskManagers taskManagers,
            Succession known,
            boolean isRunning,
            Problems problems) {
        if (isRunning && !taskManagers.active) {
            problems.add("the active ResourceManager is not in this JVM: see flink doctor");
            return;
        }
        for (String location : locations) {
            if (problems.isFull()) {
                return;
            }
            List<TaskManager> called = taskManagers.called(location);
            // A job that starts again waits for the holder of its place.
            boolean isKnown = !isRunning && known.holder(location) != null;
            if (called.size() > 1 && !isKnown) {
                problems.add(
                        "location " + Quote.of(location) + " means " + called.size()
                                + " TaskManagers " + called
                                + ": use a resource id; if one of them is dead, wait for"
                                + " heartbeat.timeout");
            } else if (called.isEmpty() && isRunning) {
                problems.add(
                        "TaskManager " + Quote.of(location) + " is not registered: start it first");
            }
        }
    }

    private static void checkRoom(
            JobPlan plan,
            JobID job,
            TaskManagers taskManagers,
            Cordons closed,
            Succession known,
            boolean isRunning,
            Problems problems) {
        Map<TaskManager, ResourceProfile> left = new HashMap<>();
        Map<TaskManager, Integer> needed = new HashMap<>();
        Set<TaskManager> full = new LinkedHashSet<>();
        for (ResourceProfile slot : plan.slots()) {
            String location = PlannedPlace.location(slot);
            TaskManager at =
                    isRunning
                            ? taskManagers.at(location)
                            : taskManagers.at(
                                    known.heir(location, taskManagers.idsAt(location), Set.of()));
            if (at == null) {
                continue; // The job starts, and waits for this TaskManager.
            }
            ResourceProfile size = PlannedPlace.size(slot, at.defaultSlot);
            ResourceProfile room =
                    left.computeIfAbsent(at, x -> isRunning ? x.availableTo(job) : x.total());
            needed.merge(at, 1, Integer::sum);
            if (room.allFieldsNoLessThan(size)) {
                left.put(at, room.subtract(size));
            } else {
                full.add(at);
            }
        }
        if (isRunning && closed != null) {
            needed.forEach(
                    (at, slots) -> {
                        if (slots > at.slotsOf(job) && closed.close(at.resourceId, at.host)) {
                            problems.add(closed.reason(at.resourceId, at.host));
                        }
                    });
        }
        for (TaskManager at : full) {
            int others = isRunning ? at.slotsOfOthers(job) : 0;
            problems.add(
                    "TaskManager " + at + " has too few slots for the plan: needed " + needed.get(at)
                            + ", has " + at.slots
                            + (others > 0 ? ", held by other jobs " + others : "")
                            + ": place fewer subtasks there");
        }
    }
}
