package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** TaskManagers that were refused, because one at another host has their resource id. */
public final class Twins {
    /** Flink asks again after half a minute by default. */
    private static final long SHOWN_MS = 120_000;

    private static final class Refusal {
        final String registeredHost;
        final long atMs = System.currentTimeMillis();

        Refusal(String registeredHost) {
            this.registeredHost = registeredHost;
        }
    }

    /** Resource id and host of who was refused, and the last refusal. */
    private final Map<List<String>, Refusal> refusals = new ConcurrentHashMap<>();

    /** Notes a refusal; tells whether it is the first of this TaskManager. */
    public boolean refuse(String id, String host, String registeredHost) {
        return refusals.put(List.of(id, host), new Refusal(registeredHost)) == null;
    }

    List<Map<String, Object>> described() {
        long nowMs = System.currentTimeMillis();
        refusals.values().removeIf(each -> nowMs - each.atMs > SHOWN_MS);
        List<Map<String, Object>> all = new ArrayList<>();
        refusals.forEach(
                (who, refusal) -> {
                    Map<String, Object> one = new LinkedHashMap<>();
                    one.put("id", who.get(0));
                    one.put("host", who.get(1));
                    one.put("registered_host", refusal.registeredHost);
                    all.add(one);
                });
        return all;
    }
}
