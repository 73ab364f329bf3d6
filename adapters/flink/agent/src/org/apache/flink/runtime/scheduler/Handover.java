package org.apache.flink.runtime.scheduler;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.jobmaster.SchedulerReplacement;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlanFile;

/** What the placement of a job leaves to that of its next scheduler, when the job is rescaled. */
final class Handover {
    private static final Map<JobID, Handover> LEFT = new ConcurrentHashMap<>();

    /** The plan file as judged last. */
    final PlanFile judged;
    /** What is wrong with that. */
    final List<String> rejections;
    /** The plan that counts from now on; null: none, as before. */
    final JobPlan plan;
    /** Where each subtask ran before. */
    final Map<ExecutionVertexID, String> former;
    final long epoch;
    final int moves;
    final long movedNanos;
    /** For the next scheduler's subtasks. */
    final HeldSlots held;
    /** What the next scheduler has to pass; null where the job goes back to what it was. */
    final SchedulerReplacement.Trial trial;

    Handover(
            PlanFile judged,
            List<String> rejections,
            JobPlan plan,
            Map<ExecutionVertexID, String> former,
            long epoch,
            int moves,
            long movedNanos,
            HeldSlots held,
            SchedulerReplacement.Trial trial) {
        this.judged = judged;
        this.rejections = rejections;
        this.plan = plan;
        this.former = former;
        this.epoch = epoch;
        this.moves = moves;
        this.movedNanos = movedNanos;
        this.held = held;
        this.trial = trial;
    }

    static void leave(JobID job, Handover left) {
        LEFT.put(job, left);
    }

    /** Returns what has been left for a job, once, or null. */
    static Handover take(JobID job) {
        return LEFT.remove(job);
    }
}
