package dev.edgeplace.flink;

/** A job that runs under a JobMaster of this JVM, as the agent's thread sees it. */
public interface PlannedJob {
    String jobId();

    String jobName();

    /** Whether it has ended, or its JobMaster has; then it is not called again. */
    boolean hasEnded();

    /** Whether it has ended for good and will not be recovered. */
    boolean hasEndedForGood();

    /**
     * Looks after the job, in its main thread.
     *
     * @param plan the plan file that counts for it now, or null
     */
    void review(PlansFolder.PlanFile plan);
}
