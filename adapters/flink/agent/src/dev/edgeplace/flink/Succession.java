package dev.edgeplace.flink;

import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which TaskManager of a host has the places that a job's plan gives to the host.
 *
 * <p>It remembers the last holder of each host, and the holder's neighbours: the TaskManagers that
 * were at the host while the holder lived. A neighbour is no successor. This memory is kept in a
 * file, because after a restart of the JobManager TaskManagers register in any order.
 */
public final class Succession {
    private static final class Holder {
        final String id;
        final Set<String> neighbours = new TreeSet<>();

        Holder(String id) {
            this.id = id;
        }
    }

    private final PlansFolder plans;
    private final String jobId;
    private final Map<String, Holder> holders = new TreeMap<>();
    /** What the file says. */
    private String kept = "";

    private Succession(PlansFolder plans, String jobId) {
        this.plans = plans;
        this.jobId = jobId;
    }

    /** Returns a memory that is empty. */
    public static Succession ofNothing(PlansFolder plans, String jobId) {
        return new Succession(plans, jobId);
    }

    /** Returns what is remembered of a job. */
    public static Succession of(PlansFolder plans, String jobId) throws IOException {
        Succession known = new Succession(plans, jobId);
        known.kept = plans.holders(jobId);
        try {
            known.kept.lines().forEach(known::read);
        } catch (IllegalArgumentException e) {
            known.holders.clear(); // Someone else has written this.
        }
        return known;
    }

    private void read(String line) {
        String[] said = line.split(" ");
        if (said.length < 2) {
            throw new IllegalArgumentException(line);
        }
        Holder holder = new Holder(decoded(said[1]));
        for (int i = 2; i < said.length; i++) {
            holder.neighbours.add(decoded(said[i]));
        }
        holders.put(decoded(said[0]), holder);
    }

    /** Returns the resource id of the last holder of a location, or null. */
    public String holder(String location) {
        Holder holder = holders.get(location);
        return holder == null ? null : holder.id;
    }

    /**
     * Remembers that a job has, or asks for, a slot of a TaskManager.
     *
     * @param there the TaskManagers that were at the location while this one was alive for certain
     */
    public void hold(String location, String id, Collection<String> there) {
        if (location.equals(id)) {
            return; // No other TaskManager is meant.
        }
        Holder holder = holders.get(location);
        Set<String> neighbours = new TreeSet<>(there);
        if (holder == null || !holder.id.equals(id)) {
            if (holder != null) {
                neighbours.remove(holder.id); // It may be dead, and come back.
            }
            holder = new Holder(id);
            holders.put(location, holder);
        }
        neighbours.remove(id);
        holder.neighbours.addAll(neighbours);
    }

    /** Forgets all holders: a new plan means the TaskManagers that are there now. */
    public void forget() {
        holders.clear();
    }

    /** Forgets all other locations, and keeps the rest for the next JobManager. */
    public void keep(Collection<String> locations) throws IOException {
        holders.keySet().retainAll(locations);
        StringBuilder text = new StringBuilder();
        holders.forEach(
                (location, holder) -> {
                    text.append(encoded(location)).append(' ').append(encoded(holder.id));
                    holder.neighbours.forEach(each -> text.append(' ').append(encoded(each)));
                    text.append('\n');
                });
        if (!kept.contentEquals(text)) {
            kept = text.toString(); // If this fails, it is not tried again until there is a change.
            plans.writeHolders(jobId, kept);
        }
    }

    /**
     * Returns the resource id of the TaskManager that has the places of a location, or null if none
     * has for certain.
     *
     * @param ids the TaskManagers that the location means
     * @param held the resource ids of those of which the job has slots
     */
    public String heir(String location, Collection<String> ids, Collection<String> held) {
        Holder holder = holders.get(location);
        return holder == null
                ? heir(ids, held, null, Set.of())
                : heir(ids, held, holder.id, holder.neighbours);
    }

    /**
     * Returns the resource id of the TaskManager that has the places of a host, or null.
     *
     * <p>It is the one of which the job has slots. If the job has none there, it is the only one
     * that has come after the former one: a killed TaskManager stays registered until its heartbeat
     * times out. If none has come, it is the former one.
     *
     * @param ids the TaskManagers of the host
     * @param held those of which the job has slots
     * @param former the one of which the job had slots, or null
     * @param neighbours those that were there beside the former one
     */
    static String heir(
            Collection<String> ids,
            Collection<String> held,
            String former,
            Collection<String> neighbours) {
        Set<String> own = new LinkedHashSet<>(ids);
        own.retainAll(held);
        if (!own.isEmpty()) {
            return only(own);
        }
        if (former == null) {
            return only(ids);
        }
        Set<String> newcomers = new LinkedHashSet<>(ids);
        newcomers.remove(former);
        newcomers.removeAll(neighbours);
        return newcomers.isEmpty() && ids.contains(former) ? former : only(newcomers);
    }

    private static String only(Collection<String> ids) {
        return ids.size() == 1 ? ids.iterator().next() : null;
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }
}
