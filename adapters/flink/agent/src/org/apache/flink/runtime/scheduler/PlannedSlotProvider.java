package org.apache.flink.runtime.scheduler;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
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
 * <p>A request for a TaskManager that is not registered is kept back: its size is not known yet,
 * and it may not come. All methods run in the JobMaster's main thread.
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
        /** Of whom a slot has been asked, or null while the request is kept back. */
        TaskManager askedOf;
        boolean isWarned;

        Open(PhysicalSlotRequest request) {
            this.request = request;
            this.asked = request.getSlotProfile().getPhysicalSlotResourceProfile();
            this.location = PlannedPlace.location(asked);
        }
    }

    /**
     * @param held what a former scheduler of the job has held for this one, or null
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

    /** Asks for what can be asked for now, and takes back what has been asked of the dead. */
    void review() {
        TaskManagers seen = TaskManagers.latest();
        for (Open each : new ArrayList<>(open.values())) {
            if (each.askedOf != null && !isRegistered(seen, each.askedOf)) {
                each.askedOf = null;
                stock.cancelSlotRequest(
                        each.request.getSlotRequestId(),
                        new FlinkException("the TaskManager is gone"));
            }
            if (each.askedOf == null) {
                TaskManager chosen = choose(each, seen);
                if (chosen != null) {
                    ask(each, chosen);
                }
            }
        }
    }

    /** Returns the locations for which subtasks wait, in order. */
    Collection<String> waitingFor() {
        TreeSet<String> locations = new TreeSet<>();
        open.values().forEach(each -> locations.add(Quote.cut(each.location)));
        return locations;
    }

    void releaseIdleSlots() {
        Internals.releaseIdleSlots(pool);
    }

    private TaskManager choose(Open request, TaskManagers seen) {
        TaskManager planned = seen.at(request.location);
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
                    "edgeplace: {} waits for TaskManager {}, which its plan names and which is not"
                            + " registered",
                    job,
                    Quote.cut(request.location));
        }
        return null;
    }

    /** Returns the TaskManager with most free slots, or null if none has one. */
    private TaskManager roomiest(TaskManagers seen) {
        TaskManager best = null;
        int most = 0;
        for (TaskManager each : seen.registered) {
            int free = each.slots - each.slotsHeld();
            for (Open other : open.values()) {
                free -= other.askedOf != null && isSame(other.askedOf, each) ? 1 : 0;
            }
            if (free > most) {
                most = free;
                best = each;
            }
        }
        return best;
    }

    private void ask(Open planned, TaskManager of) {
        planned.askedOf = of;
        SlotRequestId id = planned.request.getSlotRequestId();
        ResourceProfile size = HeldSlots.fingerprint(planned.asked, of);
        held.use(size);
        PhysicalSlotRequest request = Internals.resized(planned.request, size);
        stock.allocatePhysicalSlots(List.of(request))
                .get(id)
                .whenComplete(
                        (slot, failure) -> {
                            if (planned.askedOf != of) {
                                return; // Taken back meanwhile.
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

    /** One that was restarted under its former id is another: it registered later. */
    private static boolean isSame(TaskManager a, TaskManager b) {
        return a.resourceId.equals(b.resourceId) && a.sinceMs == b.sinceMs;
    }
}
