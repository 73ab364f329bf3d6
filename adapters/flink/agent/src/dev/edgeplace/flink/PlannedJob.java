package dev.edgeplace.flink;

/** A job that runs under a JobMaster of this JVM, as the agent's thread sees it. */
public interface PlannedJob {
    String jobId();

    String jobName();

    /** Returns how large a plan of it can be. */
    long largestPlanBytes();

    /** Whether it has ended, or its JobMaster has; then it is not called again. */
    boolean hasEnded();

    /** Whether it has ended for good and will not be recovered. */
    boolean hasEndedForGood();

    /**
     * Reads a plan file in the agent's thread, so that the job's main thread finds it read when the
     * job starts.
     *
     * @param plan the plan file that counts for it now, or null
     */
    void prepare(PlanFile plan);

    /**
     * Looks after the job: reads a new plan file in the agent's thread, does the rest in the job's
     * main thread.
     *
     * @param plan the plan file that counts for it now, or null
     */
    void review(PlanFile plan);
}
