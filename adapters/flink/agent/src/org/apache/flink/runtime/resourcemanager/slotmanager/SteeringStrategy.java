package org.apache.flink.runtime.resourcemanager.slotmanager;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.blocklist.BlockedTaskManagerChecker;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.instance.InstanceID;
import org.apache.flink.runtime.resourcemanager.registration.TaskExecutorConnection;
import org.apache.flink.runtime.slots.ResourceRequirement;
import org.apache.flink.runtime.util.ResourceCounter;

import dev.edgeplace.flink.Cordons;
import dev.edgeplace.flink.SlotFingerprints;

/**
 * Serves a request for a slot of a TaskManager's own size from that TaskManager, and all other
 * requests as stock Flink does. The stock strategy does the arithmetic: this class asks it once for
 * each TaskManager, and says that all other TaskManagers are blocked.
 */
final class SteeringStrategy implements ResourceAllocationStrategy {
    private final ResourceAllocationStrategy stock;
    private final Runnable checkAgain;
    private final Cordons cordons;

    SteeringStrategy(ResourceAllocationStrategy stock, Runnable checkAgain, Cordons cordons) {
        this.stock = stock;
        this.checkAgain = checkAgain;
        this.cordons = cordons;
    }

    @Override
    public ResourceAllocationResult tryFulfillRequirements(
            Map<JobID, Collection<ResourceRequirement>> missing,
            TaskManagerResourceInfoProvider taskManagers,
            BlockedTaskManagerChecker blocked) {
        Map<String, Map<JobID, Collection<ResourceRequirement>>> planned = new LinkedHashMap<>();
        Map<JobID, Collection<ResourceRequirement>> others = new HashMap<>();
        missing.forEach(
                (job, requirements) -> {
                    for (ResourceRequirement each : requirements) {
                        String id = SlotFingerprints.resourceId(each.getResourceProfile());
                        (id == null ? others : planned.computeIfAbsent(id, i -> new HashMap<>()))
                                .computeIfAbsent(job, j -> new ArrayList<>())
                                .add(each);
                    }
                });
        ResourceAllocationResult.Builder result = ResourceAllocationResult.builder();
        Set<InstanceID> used = new HashSet<>();
        planned.forEach(
                (id, requirements) ->
                        // A slot that is not free now does not fail the job, and starts no new
                        // TaskManager: the JobMaster's side reports what it waits for.
                        used.addAll(
                                addRegistered(
                                        result,
                                        stock.tryFulfillRequirements(
                                                requirements,
                                                taskManagers,
                                                tm ->
                                                        blocked.isBlockedTaskManager(tm)
                                                                || !tm.toString().equals(id)))));
        if (!others.isEmpty()) {
            if (used.isEmpty()) {
                addUnplanned(result, others, taskManagers, blocked);
            } else {
                // The stock strategy does not know the slots of this round: it gets the next one.
                checkAgain.run();
            }
        }
        return result.build();
    }

    @Override
    public ResourceReconcileResult tryReconcileClusterResources(
            TaskManagerResourceInfoProvider taskManagers) {
        return stock.tryReconcileClusterResources(taskManagers);
    }

    /** Serves requests as stock Flink does, but not from TaskManagers that take nothing new. */
    private void addUnplanned(
            ResourceAllocationResult.Builder sum,
            Map<JobID, Collection<ResourceRequirement>> requirements,
            TaskManagerResourceInfoProvider taskManagers,
            BlockedTaskManagerChecker blocked) {
        Set<String> closed = closedIds(taskManagers.getRegisteredTaskManagers(), cordons);
        ResourceAllocationResult open =
                stock.tryFulfillRequirements(
                        requirements,
                        taskManagers,
                        tm -> blocked.isBlockedTaskManager(tm) || closed.contains(tm.toString()));
        Set<JobID> unserved = unserved(open);
        Set<JobID> waiting = new HashSet<>(unserved);
        if (!closed.isEmpty() && !unserved.isEmpty()) {
            waiting.removeAll(
                    unserved(stock.tryFulfillRequirements(requirements, taskManagers, blocked)));
        } else {
            waiting.clear();
        }
        cordons.keepWaiting(waiting.stream().map(JobID::toString).collect(Collectors.toSet()));
        if (waiting.isEmpty()) {
            addAll(sum, open);
        } else {
            // They are neither failed nor given new TaskManagers: there is room once it is opened.
            addRegistered(sum, open);
            unserved.removeAll(waiting);
            unserved.forEach(sum::addUnfulfillableJob);
        }
    }

    /** Returns the resource ids of the TaskManagers that take nothing new. */
    static Set<String> closedIds(
            Collection<? extends TaskManagerInfo> taskManagers, Cordons cordons) {
        Set<String> closed = new HashSet<>();
        for (TaskManagerInfo each : taskManagers) {
            TaskExecutorConnection connection = each.getTaskExecutorConnection();
            String id = connection.getResourceID().toString();
            if (cordons.close(id, SteeringHooks.host(connection))) {
                closed.add(id);
            }
        }
        return closed;
    }

    /** Returns the jobs that do not get all they ask for from what is registered. */
    private static Set<JobID> unserved(ResourceAllocationResult result) {
        Set<JobID> unserved = new HashSet<>(result.getUnfulfillableJobs());
        result.getAllocationsOnPendingResources()
                .values()
                .forEach(jobs -> unserved.addAll(jobs.keySet()));
        return unserved;
    }

    private static Set<InstanceID> addRegistered(
            ResourceAllocationResult.Builder sum, ResourceAllocationResult part) {
        Set<InstanceID> used = new HashSet<>();
        part.getAllocationsOnRegisteredResources()
                .forEach(
                        (job, slots) ->
                                slots.forEach(
                                        (instance, counter) -> {
                                            used.add(instance);
                                            each(
                                                    counter,
                                                    profile ->
                                                            sum.addAllocationOnRegisteredResource(
                                                                    job, instance, profile));
                                        }));
        return used;
    }

    private static void addAll(
            ResourceAllocationResult.Builder sum, ResourceAllocationResult part) {
        addRegistered(sum, part);
        part.getPendingTaskManagersToAllocate().forEach(sum::addPendingTaskManagerAllocate);
        part.getAllocationsOnPendingResources()
                .forEach(
                        (pending, jobs) ->
                                jobs.forEach(
                                        (job, counter) ->
                                                each(
                                                        counter,
                                                        profile ->
                                                                sum.addAllocationOnPendingResource(
                                                                        job, pending, profile))));
        part.getUnfulfillableJobs().forEach(sum::addUnfulfillableJob);
    }

    private static void each(
            ResourceCounter counter, Consumer<ResourceProfile> action) {
        for (Map.Entry<ResourceProfile, Integer> entry : counter.getResourcesWithCount()) {
            for (int i = 0; i < entry.getValue(); i++) {
                action.accept(entry.getKey());
            }
        }
    }
}
