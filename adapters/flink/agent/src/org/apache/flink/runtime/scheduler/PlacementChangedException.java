package org.apache.flink.runtime.scheduler;

import org.apache.flink.util.FlinkException;

/** Marks a move in a job's exception history: the job was redeployed, it did not fail. */
final class PlacementChangedException extends FlinkException {
    private static final long serialVersionUID = 1L;

    PlacementChangedException(String why) {
        super("edgeplace: placement plan changed (" + why + "): redeployed from a checkpoint");
    }
}
