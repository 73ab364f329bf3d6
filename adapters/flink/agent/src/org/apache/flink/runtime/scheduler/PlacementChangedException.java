package org.apache.flink.runtime.scheduler;

import org.apache.flink.util.FlinkException;

/** Stands in a job's exception history for each move of it: a redeployment, not a failure. */
final class PlacementChangedException extends FlinkException {
    private static final long serialVersionUID = 1L;

    PlacementChangedException(String why) {
        super("edgeplace: placement plan changed (" + why + "): redeployed from a checkpoint");
    }
}
