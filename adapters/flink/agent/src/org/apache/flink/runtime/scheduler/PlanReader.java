package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.JobTasks;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlanMatch;

/**
 * Reads the plan files of one job, in any thread: tasks and slot sharing groups do not change.
 *
 * <p>A file that has been read is not read again, whoever asks.
 */
final class PlanReader {
    /** What a plan file says. */
    static final class Read {
        final PlanFile file;
        /** Null if there are problems. */
        final JobPlan plan;
        /** What is wrong, where, and the cure. */
        final List<String> problems;

        private Read(PlanFile file, JobPlan plan, List<String> problems) {
            this.file = file;
            this.plan = plan;
            this.problems = problems;
        }
    }

    private final ExecutionGraph graph;
    private final ExecutionSlotAllocationContext context;
    /** In topological order. */
    private final List<JobVertexID> vertices = new ArrayList<>();
    /** The same; null until a plan is to be read: most jobs have none. */
    private JobTasks tasks;
    private Read last;

    PlanReader(ExecutionGraph graph, ExecutionSlotAllocationContext context) {
        this.graph = graph;
        this.context = context;
    }

    synchronized long largestPlanBytes() {
        return tasks().largestPlanBytes();
    }

    /** Reads a file; what it says of TaskManagers is for {@link PlanJudge}. */
    synchronized Read read(PlanFile file) {
        if (last == null || !last.file.stamp.equals(file.stamp)) {
            last = readAnew(file);
        }
        return last;
    }

    private JobTasks tasks() {
        if (tasks == null) {
            List<JobTasks.Task> all = new ArrayList<>();
            for (ExecutionJobVertex each : graph.getVerticesTopologically()) {
                vertices.add(each.getJobVertexId());
                all.add(
                        new JobTasks.Task(
                                each.getJobVertexId().toString(),
                                each.getJobVertex().getName(),
                                each.getParallelism()));
            }
            tasks = new JobTasks(all);
        }
        return tasks;
    }

    private Read readAnew(PlanFile file) {
        if (!context.getCoLocationGroups().isEmpty()) {
            return new Read(
                    file,
                    null,
                    List.of("the job has co-location constraints (an iteration): it cannot be placed"));
        }
        PlanMatch match = PlanMatch.of(file, tasks());
        if (!match.problems().isEmpty()) {
            return new Read(file, null, match.problems());
        }
        Map<ExecutionVertexID, String> locations = new LinkedHashMap<>();
        for (int v = 0; v < vertices.size(); v++) {
            String[] places = match.locations.get(v);
            for (int i = 0; i < places.length; i++) {
                locations.put(new ExecutionVertexID(vertices.get(v), i), places[i]);
            }
        }
        JobPlan plan = new JobPlan(file, locations, context.getLogicalSlotSharingGroups());
        return new Read(file, plan, List.of());
    }
}
