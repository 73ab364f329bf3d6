package org.apache.flink.runtime.scheduler;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.scheduler.SharedSlotProfileRetriever.SharedSlotProfileRetrieverFactory;

import dev.edgeplace.flink.Agent;

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
        PlannedSlotProvider planned = new PlannedSlotProvider(stock, job);
        job.start(planned);
        return planned;
    }
}
