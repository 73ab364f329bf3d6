package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlansFolder;
import dev.edgeplace.flink.Schedulercfg;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.TaskManagers.TaskManager;

/** Judges a plan file as a whole: a {@link JobPlan}, or everything that is wrong with it. */
final class PlanJudge {
    private static final int MOST_LISTED = 20;

    /** Null if there are problems. */
    final JobPlan plan;
    /** What is wrong, where, and the cure. */
    final List<String> problems;

    private PlanJudge(JobPlan plan, List<String> problems) {
        this.plan = plan;
        this.problems = problems;
    }

    /**
     * @param vertices the job's, in topological order
     * @param isRunning whether the job runs now; then all that the plan needs must be there, while
     *     a job that starts can wait for TaskManagers and slots
     */
    static PlanJudge judge(
            PlansFolder.PlanFile file,
            JobID job,
            Iterable<ExecutionJobVertex> vertices,
            ExecutionSlotAllocationContext context,
            TaskManagers taskManagers,
            boolean isRunning) {
        if (file.problem != null) {
            return new PlanJudge(null, List.of(file.problem));
        }
        Schedulercfg text = Schedulercfg.parse(file.bytes);
        List<String> problems = new ArrayList<>(text.problems);
        if (!context.getCoLocationGroups().isEmpty()) {
            problems.add("the job has co-location constraints (an iteration): it cannot be placed");
        }
        Map<ExecutionVertexID, String> locations = new LinkedHashMap<>();
        if (problems.isEmpty()) {
            locations = match(text, vertices, problems);
        }
        if (problems.isEmpty()) {
            checkLocations(new LinkedHashSet<>(locations.values()), taskManagers, isRunning, problems);
        }
        JobPlan plan = null;
        if (problems.isEmpty()) {
            plan = new JobPlan(file, locations, context.getLogicalSlotSharingGroups());
            checkRoom(plan, job, taskManagers, isRunning, problems);
        }
        if (problems.size() > MOST_LISTED) {
            int more = problems.size() - MOST_LISTED;
            problems = new ArrayList<>(problems.subList(0, MOST_LISTED));
            problems.add("and " + more + " more");
        }
        return new PlanJudge(problems.isEmpty() ? plan : null, problems);
    }

    /** Returns a name without the node ids of Flink's SQL planner, which differ between runs. */
    static String withoutNodeIds(String name) {
        return name.replaceAll("\\[[0-9]+\\]", "");
    }

    private static Map<ExecutionVertexID, String> match(
            Schedulercfg text, Iterable<ExecutionJobVertex> vertices, List<String> problems) {
        Map<String, Set<ExecutionJobVertex>> byId = new HashMap<>();
        Map<String, Set<ExecutionJobVertex>> byName = new HashMap<>();
        for (ExecutionJobVertex vertex : vertices) {
            put(byId, vertex.getJobVertexId().toString(), vertex);
            put(byName, withoutNodeIds(vertex.getJobVertex().getName()), vertex);
        }
        Map<ExecutionVertexID, Integer> lineOf = new HashMap<>();
        Map<ExecutionVertexID, String> found = new HashMap<>();
        for (Schedulercfg.Line line : text.lines) {
            String where = "line " + line.number + ": ";
            Set<ExecutionJobVertex> means = new LinkedHashSet<>();
            means.addAll(byId.getOrDefault(line.task, Set.of()));
            means.addAll(byName.getOrDefault(withoutNodeIds(line.task), Set.of()));
            if (means.size() != 1) {
                problems.add(
                        where
                                + (means.isEmpty()
                                        ? "the job has no task '" + line.task + "': is the plan of"
                                                + " another job, or of another version of this one?"
                                        : "'" + line.task + "' means " + means.size()
                                                + " tasks: use their JobVertexIDs " + ids(means)));
                continue;
            }
            ExecutionJobVertex vertex = means.iterator().next();
            if (line.parallelism != vertex.getParallelism()) {
                problems.add(
                        where + "the plan is for parallelism " + line.parallelism + ", '"
                                + line.task + "' has " + vertex.getParallelism()
                                + ": solve again for the job as it runs");
                continue;
            }
            ExecutionVertexID subtask =
                    new ExecutionVertexID(vertex.getJobVertexId(), line.subtask - 1);
            Integer former = lineOf.putIfAbsent(subtask, line.number);
            if (former != null) {
                problems.add(where + "this subtask has a line already: line " + former);
            }
            found.put(subtask, line.location);
        }
        return problems.isEmpty() ? complete(found, vertices, problems) : found;
    }

    private static Map<ExecutionVertexID, String> complete(
            Map<ExecutionVertexID, String> found,
            Iterable<ExecutionJobVertex> vertices,
            List<String> problems) {
        Map<ExecutionVertexID, String> inOrder = new LinkedHashMap<>();
        for (ExecutionJobVertex vertex : vertices) {
            for (int i = 0; i < vertex.getParallelism(); i++) {
                ExecutionVertexID subtask = new ExecutionVertexID(vertex.getJobVertexId(), i);
                String location = found.get(subtask);
                if (location == null) {
                    problems.add(
                            "'" + vertex.getJobVertex().getName() + " (" + (i + 1) + "/"
                                    + vertex.getParallelism()
                                    + ")' has no line: a plan places every subtask");
                }
                inOrder.put(subtask, location);
            }
        }
        return inOrder;
    }

    private static void checkLocations(
            Set<String> locations,
            TaskManagers taskManagers,
            boolean isRunning,
            List<String> problems) {
        if (isRunning && !taskManagers.active) {
            problems.add("the active ResourceManager is not in this JVM: see flink doctor");
            return;
        }
        for (String location : locations) {
            List<TaskManager> called = taskManagers.called(location);
            if (called.size() > 1) {
                problems.add(
                        "location '" + location + "' means " + called.size() + " TaskManagers "
                                + called + ": use a resource id; if one of them is dead, wait for"
                                + " heartbeat.timeout");
            } else if (called.isEmpty() && isRunning) {
                problems.add("TaskManager '" + location + "' is not registered: start it first");
            }
        }
    }

    private static void checkRoom(
            JobPlan plan,
            JobID job,
            TaskManagers taskManagers,
            boolean isRunning,
            List<String> problems) {
        Map<TaskManager, ResourceProfile> left = new HashMap<>();
        Map<TaskManager, Integer> needed = new HashMap<>();
        Set<TaskManager> full = new LinkedHashSet<>();
        for (ResourceProfile slot : plan.slots()) {
            TaskManager at = taskManagers.at(PlannedPlace.location(slot));
            if (at == null) {
                continue; // The job starts, and waits for it.
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
        for (TaskManager at : full) {
            int others = isRunning ? at.slotsOfOthers(job) : 0;
            problems.add(
                    "TaskManager " + at + " has too few slots for the plan: needed " + needed.get(at)
                            + ", has " + at.slots
                            + (others > 0 ? ", held by other jobs " + others : "")
                            + ": place fewer subtasks there");
        }
    }

    private static void put(
            Map<String, Set<ExecutionJobVertex>> map, String key, ExecutionJobVertex vertex) {
        map.computeIfAbsent(key, k -> new LinkedHashSet<>()).add(vertex);
    }

    private static Set<String> ids(Set<ExecutionJobVertex> vertices) {
        Set<String> ids = new TreeSet<>();
        vertices.forEach(vertex -> ids.add(vertex.getJobVertexId().toString()));
        return ids;
    }
}
