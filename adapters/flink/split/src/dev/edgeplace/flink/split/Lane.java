package dev.edgeplace.flink.split;

/**
 * What a router and the partitioner behind it say to each other.
 *
 * <p>The router sends a record, and in the same call, in the same thread, the partitioner is asked
 * where it goes. So the record needs no field for it, and the router learns how many workers there
 * are, which may change when the job is rescaled.
 */
final class Lane {
    private static final ThreadLocal<Lane> OF_TASK = ThreadLocal.withInitial(Lane::new);

    /** Subtask, from 0, that gets the next record. */
    int worker;
    /** Number of workers of the last record, 0 before the first one. */
    int workers;

    private Lane() {}

    static Lane ofThisTask() {
        return OF_TASK.get();
    }
}
