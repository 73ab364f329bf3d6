package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmanager.scheduler.SlotSharingGroup;

import dev.edgeplace.flink.JobTasks;

/** What a plan is matched with: the tasks of a job, and the tasks that may share a slot. */
final class JobShape {
    private static final String FORWARD = "FORWARD";
    private static final int UNSET = -1;

    /** In the order of the tasks. */
    final List<JobVertexID> vertices = new ArrayList<>();
    final JobTasks tasks;
    final Collection<SlotSharingGroup> sharing;
    /** Whether subtasks must share a slot, as those of an iteration. */
    final boolean isCoLocated;

    private JobShape(
            List<JobTasks.Task> tasks,
            String fixedBecause,
            Collection<SlotSharingGroup> sharing,
            boolean isCoLocated) {
        tasks.forEach(each -> vertices.add(JobVertexID.fromHexString(each.id)));
        this.tasks = new JobTasks(tasks, fixedBecause);
        this.sharing = sharing;
        this.isCoLocated = isCoLocated;
    }

    /**
     * Returns the shape of a job that has a scheduler.
     *
     * @param fixedBecause why its parallelism cannot be changed, or null
     */
    static JobShape of(
            ExecutionGraph graph, ExecutionSlotAllocationContext context, String fixedBecause) {
        List<JobVertex> vertices = new ArrayList<>();
        graph.getVerticesTopologically().forEach(each -> vertices.add(each.getJobVertex()));
        Map<JobVertexID, Integer> groups = forwardGroups(vertices);
        List<JobTasks.Task> tasks = new ArrayList<>();
        for (ExecutionJobVertex each : graph.getVerticesTopologically()) {
            tasks.add(
                    task(
                            each.getJobVertex(),
                            each.getParallelism(),
                            each.getMaxParallelism(),
                            groups));
        }
        return new JobShape(
                tasks,
                fixedBecause,
                context.getLogicalSlotSharingGroups(),
                !context.getCoLocationGroups().isEmpty());
    }

    /** Returns the shape of a job before its scheduler is made. */
    static JobShape of(JobGraph graph) {
        List<JobVertex> vertices = new ArrayList<>();
        graph.getVertices().forEach(vertices::add);
        Map<JobVertexID, Integer> groups = forwardGroups(vertices);
        List<JobTasks.Task> tasks = new ArrayList<>();
        for (JobVertex each : vertices) {
            int max = each.getMaxParallelism();
            tasks.add(
                    task(
                            each,
                            Math.max(1, each.getParallelism()),
                            max == UNSET ? SchedulerBase.getDefaultMaxParallelism(each) : max,
                            groups));
        }
        return new JobShape(
                tasks, null, graph.getSlotSharingGroups(), !graph.getCoLocationGroups().isEmpty());
    }

    private static JobTasks.Task task(
            JobVertex vertex, int parallelism, int max, Map<JobVertexID, Integer> groups) {
        return new JobTasks.Task(
                vertex.getID().toString(),
                vertex.getName(),
                parallelism,
                max,
                groups.get(vertex.getID()));
    }

    /** Returns a number for each vertex; vertices that FORWARD joins have the same number. */
    private static Map<JobVertexID, Integer> forwardGroups(List<JobVertex> vertices) {
        Map<JobVertexID, Integer> groups = new HashMap<>();
        vertices.forEach(each -> groups.put(each.getID(), groups.size()));
        for (JobVertex target : vertices) {
            for (JobEdge edge : target.getInputs()) {
                if (FORWARD.equals(edge.getShipStrategyName())) {
                    int joined = groups.get(edge.getSource().getProducer().getID());
                    int replaced = groups.get(target.getID());
                    groups.replaceAll((id, group) -> group == replaced ? joined : group);
                }
            }
        }
        return groups;
    }
}
