package org.apache.flink.runtime.scheduler;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.jobmaster.SchedulerReplacement;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlanFile;

/** What one scheduler of a job leaves to the next, when the job is rescaled. */
final class Handover {
    private static final Map<JobID, Handover> LEFT = new ConcurrentHashMap<>();

    /** The plan file that was judged last. */
    final PlanFile judged;
    /** What is wrong with that file. */
    final List<String> rejections;
    /** The plan that the next scheduler follows; null: stock Flink places the job, as before. */
    final JobPlan plan;
    /** Where each subtask ran before. */
    final Map<ExecutionVertexID, String> formerPlaces;
    /** The slot of each subtask of the next scheduler that was there before. */
    final Map<ExecutionVertexID, AllocationID> formerSlots;
    final long epoch;
    final int moves;
    final long movedNanos;
    /** Slots for the subtasks of the next scheduler. */
    final HeldSlots held;
    /** The trial of the next scheduler; null if the job goes back to its former parallelism. */
    final SchedulerReplacement.Trial trial;

    Handover(
            PlanFile judged,
            List<String> rejections,
            JobPlan plan,
            Map<ExecutionVertexID, String> formerPlaces,
            Map<ExecutionVertexID, AllocationID> formerSlots,
            long epoch,
            int moves,
            long movedNanos,
            HeldSlots held,
            SchedulerReplacement.Trial trial) {
        this.judged = judged;
        this.rejections = rejections;
        this.plan = plan;
        this.formerPlaces = formerPlaces;
        this.formerSlots = formerSlots;
        this.epoch = epoch;
        this.moves = moves;
        this.movedNanos = movedNanos;
        this.held = held;
        this.trial = trial;
    }

    static void leave(JobID job, Handover handover) {
        LEFT.put(job, handover);
    }

    /** Returns and forgets what was left for a job, or returns null. */
    static Handover take(JobID job) {
        return LEFT.remove(job);
    }
}
