package org.apache.flink.runtime.scheduler;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.scheduler.SharedSlotProfileRetriever.SharedSlotProfileRetrieverFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.Succession;
import dev.edgeplace.flink.TaskManagers;

/**
 * The hooks in {@code SlotSharingExecutionSlotAllocatorFactory}, on the JobMaster's side, call these
 * methods. For each scheduler, each hook is called once, in the order of the methods.
 */
public final class PlacementHooks {
    /** The jobs between the first and the last hook. */
    private static final Map<ExecutionSlotAllocationContext, JobPlacement> JOBS =
            new ConcurrentHashMap<>();

    private PlacementHooks() {}

    /** Wraps the strategy that says which subtasks share a slot. */
    public static SlotSharingStrategy strategy(
            SlotSharingStrategy stock, ExecutionSlotAllocationContext context) {
        JobPlacement job = new JobPlacement(Internals.scheduler(context), context, Agent.get());
        JOBS.put(context, job);
        return new PlannedSlotSharing(stock, job);
    }

    /** Wraps the factory that is called before slots are allocated for some subtasks. */
    public static SharedSlotProfileRetrieverFactory retriever(
            SharedSlotProfileRetrieverFactory stock, ExecutionSlotAllocationContext context) {
        JobPlacement job = JOBS.get(context);
        return subtasks -> {
            job.beforeAllocation(subtasks);
            SharedSlotProfileRetriever retriever = stock.createFromBulk(subtasks);
            return (group, size) ->
                    job.preferFormerSlot(group, retriever.getSlotProfile(group, size));
        };
    }

    /** Wraps the provider of slots. */
    public static PhysicalSlotProvider provider(
            PhysicalSlotProvider stock, ExecutionSlotAllocationContext context) {
        JobPlacement job = JOBS.remove(context);
        return job.start(stock);
    }

    /** Returns the parallelism that a plan gives a job which starts; empty if there is no plan. */
    public static Map<JobVertexID, Integer> parallelismAtStart(JobGraph graph) throws IOException {
        Agent agent = Agent.get();
        String id = graph.getJobID().toString();
        PlanReader reader = new PlanReader(() -> JobShape.of(graph));
        // A job that has run keeps its parallelism, or starts in its own if no plan is kept. If the
        // plan file has another one, the job is rescaled while it runs, so that it can go back.
        JobPlan kept = usable(reader, agent.plans.applied(id, reader.largestPlanBytes()), graph);
        if (kept != null || agent.hasRunBefore(id)) {
            return kept == null ? Map.of() : kept.parallelism;
        }
        PlanFile newest = agent.planOf(id, graph.getName(), reader::largestPlanBytes);
        JobPlan plan = usable(reader, newest, graph);
        return plan == null ? Map.of() : plan.parallelism;
    }

    private static JobPlan usable(PlanReader reader, PlanFile file, JobGraph graph)
            throws IOException {
        JobPlan plan = file == null ? null : reader.read(file).plan;
        return plan != null
                        && PlanJudge.problems(
                                        plan,
                                        graph.getJobID(),
                                        TaskManagers.latest(),
                                        null,
                                        Succession.of(
                                                Agent.get().plans, graph.getJobID().toString()),
                                        false)
                                .isEmpty()
                ? plan
                : null;
    }
}
