package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Which of several TaskManagers of a host has the places that a plan gives to the host. */
public final class Succession {
    private Succession() {}

    /**
     * Returns the resource id of the TaskManager, or null if none of them has the better claim.
     *
     * <p>It is the one of which the job has slots. If the job has lost its slots, it is the only
     * other one: a killed TaskManager stays registered until its heartbeat times out.
     *
     * @param ids the TaskManagers of the host
     * @param held those of which the job has slots
     * @param former the one of which the job had slots, or null
     */
    public static String heir(List<String> ids, Collection<String> held, String former) {
        List<String> own = new ArrayList<>(ids);
        own.retainAll(held);
        if (!own.isEmpty()) {
            return own.size() == 1 ? own.get(0) : null;
        }
        List<String> others = new ArrayList<>(ids);
        boolean isFormerThere = others.remove(former);
        return isFormerThere && others.size() == 1 ? others.get(0) : null;
    }
}
