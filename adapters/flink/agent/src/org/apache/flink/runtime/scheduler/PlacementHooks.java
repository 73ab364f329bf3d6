package org.apache.flink.runtime.scheduler;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.scheduler.SharedSlotProfileRetriever.SharedSlotProfileRetrieverFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.TaskManagers;

/**
 * The JobMaster's side: called from the hooks in {@code SlotSharingExecutionSlotAllocatorFactory},
 * once each for every job, in this order.
 */
public final class PlacementHooks {
    /** Jobs between the first hook and the last. */
    private static final Map<ExecutionSlotAllocationContext, JobPlacement> JOBS =
            new ConcurrentHashMap<>();

    private PlacementHooks() {}

    /** Wraps what says which subtasks share a slot. */
    public static SlotSharingStrategy strategy(
            SlotSharingStrategy stock, ExecutionSlotAllocationContext context) {
        JobPlacement job = new JobPlacement(Internals.scheduler(context), context, Agent.get());
        JOBS.put(context, job);
        return new PlannedSlotSharing(stock, job);
    }

    /** Wraps what is called before slots are allocated for some subtasks. */
    public static SharedSlotProfileRetrieverFactory retriever(
            SharedSlotProfileRetrieverFactory stock, ExecutionSlotAllocationContext context) {
        JobPlacement job = JOBS.get(context);
        return subtasks -> {
            job.beforeAllocation(subtasks);
            return stock.createFromBulk(subtasks);
        };
    }

    /** Wraps what provides slots. */
    public static PhysicalSlotProvider provider(
            PhysicalSlotProvider stock, ExecutionSlotAllocationContext context) {
        JobPlacement job = JOBS.remove(context);
        return job.start(stock);
    }

    /** Returns the parallelism that a job starts with by its plan; empty: with its own. */
    public static Map<JobVertexID, Integer> parallelismAtStart(JobGraph graph) throws IOException {
        Agent agent = Agent.get();
        String id = graph.getJobID().toString();
        PlanReader reader = new PlanReader(() -> JobShape.of(graph));
        // A job that was running keeps what it had; another plan's parallelism comes while it runs,
        // with a way back.
        PlanFile kept = agent.plans.applied(id, reader.largestPlanBytes());
        PlanFile newest = agent.planOf(id, graph.getName(), reader::largestPlanBytes);
        for (PlanFile each : Arrays.asList(kept, newest)) {
            JobPlan plan = each == null ? null : reader.read(each).plan;
            if (plan != null
                    && PlanJudge.problems(plan, graph.getJobID(), TaskManagers.latest(), false)
                            .isEmpty()) {
                return plan.parallelism;
            }
        }
        return Map.of();
    }
}
