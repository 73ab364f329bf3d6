package dev.edgeplace.flink;

/** A job under a JobMaster of this JVM, for the agent's thread. */
public interface PlannedJob {
    String jobId();

    String jobName();

    /** Returns the size of the largest possible plan of the job. */
    long largestPlanBytes();

    /** Tells whether the job, its JobMaster or its scheduler has ended. */
    boolean hasEnded();

    /** Tells whether the job has ended and no JobMaster will recover it. */
    boolean hasEndedForGood();

    /**
     * Reads a plan file in the agent's thread, so that the JobMaster's main thread need not read it
     * when the job starts.
     *
     * @param plan the plan file that counts for it now, or null
     */
    void prepare(PlanFile plan);

    /**
     * Reads a new plan file in the agent's thread, then reviews the job in the JobMaster's main
     * thread.
     *
     * @param plan the plan file that counts for it now, or null
     */
    void review(PlanFile plan);
}
