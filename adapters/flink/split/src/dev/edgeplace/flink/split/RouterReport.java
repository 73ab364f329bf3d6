package dev.edgeplace.flink.split;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;

/** Says to the coordinator what a router does. */
final class RouterReport implements OperatorEvent {
    private static final long serialVersionUID = 1L;

    final String jobId;
    final String jobName;
    final int routers;
    /** 0 before the first record: after a rescale, the job's program does not say it. */
    final int workers;
    /** Of the weights that it uses; 0 for even ones. */
    final long version;
    /** The slide that has just ended, or null. */
    final Slide slide;

    RouterReport(
            String jobId, String jobName, int routers, int workers, long version, Slide slide) {
        this.jobId = jobId;
        this.jobName = jobName;
        this.routers = routers;
        this.workers = workers;
        this.version = version;
        this.slide = slide;
    }
}
