package org.apache.flink.runtime.resourcemanager.slotmanager;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.blocklist.BlockedTaskManagerChecker;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.instance.InstanceID;
import org.apache.flink.runtime.slots.ResourceRequirement;
import org.apache.flink.runtime.util.ResourceCounter;

import dev.edgeplace.flink.SlotFingerprints;

/**
 * Serves a request for a slot of a TaskManager's own size from that TaskManager, and all other
 * requests as stock Flink does. The stock strategy does the arithmetic: this class asks it once for
 * each TaskManager, and says that all other TaskManagers are blocked.
 */
final class SteeringStrategy implements ResourceAllocationStrategy {
    private final ResourceAllocationStrategy stock;
    private final Runnable checkAgain;

    SteeringStrategy(ResourceAllocationStrategy stock, Runnable checkAgain) {
        this.stock = stock;
        this.checkAgain = checkAgain;
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
        if (planned.isEmpty()) {
            return stock.tryFulfillRequirements(missing, taskManagers, blocked);
        }
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
                addAll(result, stock.tryFulfillRequirements(others, taskManagers, blocked));
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
