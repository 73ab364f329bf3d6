package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;

/**
 * A snapshot of the TaskManagers that are registered at this JVM's ResourceManager. Its main thread
 * makes the snapshot. Any thread can read it.
 */
public final class TaskManagers {
    /** One TaskManager. */
    public static final class TaskManager {
        public final String resourceId;
        /** Its address, as plans write it; empty if it is not known. */
        public final String host;
        public final int slots;
        public final ResourceProfile defaultSlot;
        /** The resources that no slot uses. */
        public final ResourceProfile available;
        public final Map<JobID, List<ResourceProfile>> slotsOfJobs;
        /** When it was first seen. */
        public final long sinceMs;

        public TaskManager(
                String resourceId,
                String host,
                int slots,
                ResourceProfile defaultSlot,
                ResourceProfile available,
                Map<JobID, List<ResourceProfile>> slotsOfJobs,
                long sinceMs) {
            this.resourceId = resourceId;
            this.host = host;
            this.slots = slots;
            this.defaultSlot = defaultSlot;
            this.available = available;
            this.slotsOfJobs = slotsOfJobs;
            this.sinceMs = sinceMs;
        }

        /** Returns the resources that a job can use: those that are free and those of its slots. */
        public ResourceProfile availableTo(JobID job) {
            ResourceProfile sum = available;
            for (ResourceProfile slot : slotsOfJobs.getOrDefault(job, List.of())) {
                sum = sum.merge(slot);
            }
            return sum;
        }

        /** Returns the resources of the whole TaskManager. */
        public ResourceProfile total() {
            ResourceProfile sum = available;
            for (List<ResourceProfile> slots : slotsOfJobs.values()) {
                for (ResourceProfile slot : slots) {
                    sum = sum.merge(slot);
                }
            }
            return sum;
        }

        public int slotsHeld() {
            return slotsOfJobs.values().stream().mapToInt(List::size).sum();
        }

        public int slotsOf(JobID job) {
            return slotsOfJobs.getOrDefault(job, List.of()).size();
        }

        public int slotsOfOthers(JobID job) {
            return slotsHeld() - slotsOf(job);
        }

        public boolean isCalled(String location) {
            return resourceId.equals(location) || host.equals(location);
        }

        @Override
        public String toString() {
            return host.isEmpty() || host.equals(resourceId)
                    ? resourceId
                    : resourceId + " (" + host + ")";
        }
    }

    private static volatile TaskManagers latest = new TaskManagers(false, List.of(), Map.of());

    /** Whether this JVM has the active ResourceManager. */
    public final boolean active;

    public final List<TaskManager> registered;
    private final Map<String, Long> lostSinceMs;

    private TaskManagers(
            boolean active, List<TaskManager> registered, Map<String, Long> lostSinceMs) {
        this.active = active;
        this.registered = Collections.unmodifiableList(registered);
        this.lostSinceMs = lostSinceMs;
    }

    public static TaskManagers latest() {
        return latest;
    }

    /** Replaces the snapshot; only the ResourceManager calls this. */
    public static synchronized void publish(boolean active, List<TaskManager> registered) {
        Map<String, Long> lost = new HashMap<>(latest.lostSinceMs);
        for (TaskManager former : latest.registered) {
            lost.put(former.resourceId, System.currentTimeMillis());
            lost.put(former.host, System.currentTimeMillis());
        }
        for (TaskManager now : registered) {
            lost.remove(now.resourceId);
            lost.remove(now.host);
        }
        latest = new TaskManagers(active, registered, lost);
    }

    /** Returns the TaskManagers that a location means: one, unless it is gone or ambiguous. */
    public List<TaskManager> called(String location) {
        List<TaskManager> found = new ArrayList<>();
        for (TaskManager each : registered) {
            if (each.isCalled(location)) {
                found.add(each);
            }
        }
        return found;
    }

    /** Tells whether no TaskManager that is registered is meant by a location. */
    public boolean isMissing(String location) {
        return registered.stream().noneMatch(each -> each.isCalled(location));
    }

    /** Returns the TaskManager at a location, or null if it is gone, or if there are several. */
    public TaskManager at(String location) {
        List<TaskManager> called = called(location);
        return called.size() == 1 ? called.get(0) : null;
    }

    /** Returns the resource ids of the TaskManagers that a location means. */
    public Set<String> idsAt(String location) {
        return idsAt(location, Long.MAX_VALUE);
    }

    /** Returns the resource ids of those that a location means and that were there at a time. */
    public Set<String> idsAt(String location, long timeMs) {
        return called(location).stream()
                .filter(each -> each.sinceMs <= timeMs)
                .map(each -> each.resourceId)
                .collect(Collectors.toSet());
    }

    /** Returns since when a location has been gone, or {@code otherwise} if it was never seen. */
    public long lostSinceMs(String location, long otherwise) {
        return lostSinceMs.getOrDefault(location, otherwise);
    }
}
