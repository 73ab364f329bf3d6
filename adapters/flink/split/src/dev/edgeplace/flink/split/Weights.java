package dev.edgeplace.flink.split;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;

/** Says to a router which weights hold from now on. */
final class Weights implements OperatorEvent {
    private static final long serialVersionUID = 1L;

    /** Counts changes, from 1, so that a router can say which weights it has. */
    final long version;
    final double[] perWorker;

    Weights(long version, double[] perWorker) {
        this.version = version;
        this.perWorker = perWorker;
    }
}
