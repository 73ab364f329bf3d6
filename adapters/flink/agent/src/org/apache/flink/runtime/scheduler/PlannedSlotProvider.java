package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.jobmaster.SlotInfo;
import org.apache.flink.runtime.jobmaster.SlotRequestId;
import org.apache.flink.runtime.jobmaster.slotpool.DeclarativeSlotPool;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotRequest;
import org.apache.flink.util.FlinkException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.Options;
import dev.edgeplace.flink.Quote;
import dev.edgeplace.flink.TaskManagers;
import dev.edgeplace.flink.TaskManagers.TaskManager;

/**
 * Asks the stock provider for slots of the planned TaskManagers' own sizes.
 *
 * <p>It keeps a request for a TaskManager that is not registered: the size of its slots is not
 * known, and it may never register. All methods run in the JobMaster's main thread.
 */
final class PlannedSlotProvider implements PhysicalSlotProvider {
    private static final Logger LOG = LoggerFactory.getLogger(PlannedSlotProvider.class);

    private final PhysicalSlotProvider stock;
    private final JobPlacement job;
    private final Map<SlotRequestId, Open> open = new LinkedHashMap<>();
    private final DeclarativeSlotPool pool;
    final HeldSlots held;

    /** A request that has no slot yet. */
    private static final class Open {
        final PhysicalSlotRequest request;
        final ResourceProfile asked;
        final String location;
        final long sinceMs = System.currentTimeMillis();
        final CompletableFuture<PhysicalSlotRequest.Result> slot = new CompletableFuture<>();
        /** The TaskManager that a slot was asked of, or null while this request is kept. */
        TaskManager askedOf;
        /** Why it is kept back, if its TaskManager is registered. */
        String keptBackBecause;
        boolean isWarned;

        Open(PhysicalSlotRequest request) {
            this.request = request;
            this.asked = request.getSlotProfile().getPhysicalSlotResourceProfile();
            this.location = PlannedPlace.location(asked);
        }

        /** Returns the slot where local recovery finds the state of the subtasks, if there is one. */
        Collection<AllocationID> preferred() {
            return request.getSlotProfile().getPreferredAllocations();
        }
    }

    /**
     * @param held the slots that a former scheduler of the job holds for this one, or null
     */
    PlannedSlotProvider(PhysicalSlotProvider stock, JobPlacement job, HeldSlots held) {
        this.stock = stock;
        this.job = job;
        this.pool = Internals.slotPool(stock);
        this.held = held == null ? new HeldSlots(pool) : held;
    }

    @Override
    public Map<SlotRequestId, CompletableFuture<PhysicalSlotRequest.Result>> allocatePhysicalSlots(
            Collection<PhysicalSlotRequest> requests) {
        Map<SlotRequestId, CompletableFuture<PhysicalSlotRequest.Result>> slots = new HashMap<>();
        List<PhysicalSlotRequest> unplanned = new ArrayList<>();
        for (PhysicalSlotRequest request : requests) {
            Open planned = new Open(request);
            if (planned.location == null) {
                unplanned.add(request);
            } else {
                open.put(request.getSlotRequestId(), planned);
                slots.put(request.getSlotRequestId(), planned.slot);
            }
        }
        if (!unplanned.isEmpty()) {
            slots.putAll(stock.allocatePhysicalSlots(unplanned));
        }
        review();
        return slots;
    }

    @Override
    public void cancelSlotRequest(SlotRequestId id, Throwable cause) {
        Open cancelled = open.remove(id);
        if (cancelled != null && cancelled.askedOf == null) {
            cancelled.slot.completeExceptionally(cause);
        } else {
            stock.cancelSlotRequest(id, cause);
        }
    }

    @Override
    public void disableBatchSlotRequestTimeoutCheck() {
        stock.disableBatchSlotRequestTimeoutCheck();
    }

    /** Asks for slots of registered TaskManagers, and cancels requests to those that are gone. */
    void review() {
        if (open.isEmpty()) {
            return;
        }
        TaskManagers seen = TaskManagers.latest();
        Map<AllocationID, ResourceProfile> free = freeSlots();
        List<Open> ordered = new ArrayList<>(open.values());
        // Requests for a former slot come first: no other request takes that slot.
        ordered.sort(
                Comparator.comparing(
                        each -> Collections.disjoint(free.keySet(), each.preferred())));
        for (Open each : ordered) {
            if (each.askedOf != null && !isRegistered(seen, each.askedOf)) {
                each.askedOf = null;
                stock.cancelSlotRequest(
                        each.request.getSlotRequestId(),
                        new FlinkException("the TaskManager is gone"));
            }
            if (each.askedOf == null) {
                TaskManager chosen = choose(each, seen);
                if (chosen != null) {
                    ask(each, chosen, free);
                }
            }
        }
    }

    /** Returns the locations that subtasks wait for, in order. */
    Collection<String> waitingFor() {
        TreeSet<String> locations = new TreeSet<>();
        open.values().forEach(each -> locations.add(Quote.cut(each.location)));
        return locations;
    }

    /** Returns the slots that the job holds, each with the resource id of its TaskManager. */
    Map<AllocationID, String> slots() {
        Map<AllocationID, String> slots = new HashMap<>();
        for (SlotInfo each : pool.getAllSlotsInformation()) {
            slots.put(
                    each.getAllocationId(),
                    each.getTaskManagerLocation().getResourceID().toString());
        }
        return slots;
    }

    private Map<AllocationID, ResourceProfile> freeSlots() {
        Map<AllocationID, ResourceProfile> free = new HashMap<>();
        for (SlotInfo each : pool.getAllSlotsInformation()) {
            if (pool.containsFreeSlot(each.getAllocationId())) {
                free.put(each.getAllocationId(), each.getResourceProfile());
            }
        }
        return free;
    }

    void releaseIdleSlots() {
        Internals.releaseIdleSlots(pool);
    }

    /** Returns why subtasks wait, beside for TaskManagers that are not registered. */
    List<String> whyWaiting() {
        TreeSet<String> reasons = new TreeSet<>();
        for (Open each : open.values()) {
            if (each.askedOf == null && each.keptBackBecause != null) {
                reasons.add(each.keptBackBecause);
            }
        }
        return List.copyOf(reasons);
    }

    private TaskManager choose(Open request, TaskManagers seen) {
        TaskManager planned = planned(request, seen);
        if (planned != null) {
            return planned;
        }
        long goneMs =
                System.currentTimeMillis() - seen.lostSinceMs(request.location, request.sinceMs);
        if (job.options().lost == Options.Lost.FALLBACK
                && goneMs >= job.options().fallbackAfterMs) {
            TaskManager other = roomiest(seen);
            if (other != null) {
                LOG.warn(
                        "edgeplace: {} is gone: its subtasks of {} run on {} until it is back",
                        Quote.cut(request.location),
                        job,
                        other);
                return other;
            }
        }
        if (!request.isWarned) {
            request.isWarned = true;
            LOG.warn(
                    "edgeplace: {} waits for TaskManager {} of its plan: {}",
                    job,
                    Quote.cut(request.location),
                    request.keptBackBecause == null
                            ? "it is not registered"
                            : request.keptBackBecause);
        }
        return null;
    }

    /** Returns the TaskManager that a request gets its slot of, or null if it has to wait. */
    private TaskManager planned(Open request, TaskManagers seen) {
        List<TaskManager> called = seen.called(request.location);
        TaskManager planned =
                seen.at(
                        job.succession()
                                .heir(
                                        request.location,
                                        seen.idsAt(request.location),
                                        slots().values()));
        request.keptBackBecause = null;
        if (planned == null && !called.isEmpty()) {
            String former = job.succession().holder(request.location);
            request.keptBackBecause =
                    "location " + Quote.of(request.location)
                            + (former == null ? "" : " was TaskManager " + former + ", and")
                            + " means " + called.size() + " TaskManagers " + called
                            + ": use a resource id; if one of them is dead, wait for"
                            + " heartbeat.timeout";
        } else if (planned != null
                && job.isNew()
                && job.cordons().close(planned.resourceId, planned.host)) {
            request.keptBackBecause = job.cordons().reason(planned.resourceId, planned.host);
            return null;
        }
        return planned;
    }

    /** Returns the TaskManager with the most free slots, or null if no slot is free. */
    private TaskManager roomiest(TaskManagers seen) {
        TaskManager best = null;
        int most = 0;
        for (TaskManager each : seen.registered) {
            int free = each.slots - each.slotsHeld();
            for (Open other : open.values()) {
                free -= other.askedOf != null && isSame(other.askedOf, each) ? 1 : 0;
            }
            if (free > most && !job.cordons().close(each.resourceId, each.host)) {
                most = free;
                best = each;
            }
        }
        return best;
    }

    private void ask(Open planned, TaskManager of, Map<AllocationID, ResourceProfile> free) {
        planned.askedOf = of;
        if (of.isCalled(planned.location)) {
            job.succession()
                    .hold(
                            planned.location,
                            of.resourceId,
                            TaskManagers.latest().idsAt(planned.location));
        }
        SlotRequestId id = planned.request.getSlotRequestId();
        ResourceProfile size = HeldSlots.fingerprint(planned.asked, of);
        held.use(size);
        List<AllocationID> preferred = new ArrayList<>(planned.preferred());
        preferred.removeIf(slot -> !size.equals(free.get(slot)));
        PhysicalSlotRequest request = Internals.resized(planned.request, size, preferred);
        stock.allocatePhysicalSlots(List.of(request))
                .get(id)
                .whenComplete(
                        (slot, failure) -> {
                            if (planned.askedOf != of) {
                                return; // The request was cancelled meanwhile.
                            }
                            open.remove(id);
                            if (failure == null) {
                                planned.slot.complete(slot);
                            } else {
                                planned.slot.completeExceptionally(failure);
                            }
                        });
    }

    private static boolean isRegistered(TaskManagers seen, TaskManager taskManager) {
        return seen.registered.stream().anyMatch(each -> isSame(each, taskManager));
    }

    /** A TaskManager that was restarted with its former id is another one: it registered later. */
    private static boolean isSame(TaskManager a, TaskManager b) {
        return a.resourceId.equals(b.resourceId) && a.sinceMs == b.sinceMs;
    }
}
