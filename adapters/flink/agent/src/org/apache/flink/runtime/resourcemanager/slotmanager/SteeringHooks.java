package org.apache.flink.runtime.resourcemanager.slotmanager;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.instance.InstanceID;
import org.apache.flink.runtime.registration.RegistrationResponse;
import org.apache.flink.runtime.resourcemanager.TaskExecutorRegistration;
import org.apache.flink.runtime.resourcemanager.registration.TaskExecutorConnection;
import org.apache.flink.util.FlinkException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.ReflectedMember;
import dev.edgeplace.flink.TaskManagers;

/**
 * The hooks in {@code FineGrainedSlotManager} and in the {@code ResourceManager} call these methods.
 */
public final class SteeringHooks {
    private static final Logger LOG = LoggerFactory.getLogger(SteeringHooks.class);

    private static volatile FineGrainedSlotManager slotManager;
    private static volatile Executor mainThread;
    private static Set<String> lastClosed = Set.of();
    private static final Map<InstanceID, Long> FIRST_SEEN_MS = new ConcurrentHashMap<>();

    private SteeringHooks() {}

    /** Wraps the strategy that chooses TaskManagers for slot requests. */
    public static ResourceAllocationStrategy strategy(ResourceAllocationStrategy stock) {
        return new SteeringStrategy(stock, SteeringHooks::checkAgain, Agent.get().cordons);
    }

    /** Called when a ResourceManager of this JVM becomes active. */
    public static void started(FineGrainedSlotManager started, Executor itsMainThread) {
        slotManager = started;
        mainThread = itsMainThread;
        Agent.get().probeResourceManager(SteeringHooks::probe);
        LOG.info("edgeplace: slot requests are steered, plans are in {}", Agent.get().plans);
    }

    /**
     * Returns why a TaskManager cannot register, or null. Called in the ResourceManager's main
     * thread. If two TaskManagers have one resource id, Flink lets the second take the place of the
     * first, whose subtasks fail, and then the first that of the second, and so on. At the same host
     * it is the first one, restarted. At another host it has to wait until the first is gone.
     */
    public static RegistrationResponse refusal(TaskExecutorRegistration asks) {
        try {
            FineGrainedSlotManager of = slotManager;
            if (of == null || !(boolean) read(of, ReflectedMember.SLOT_MANAGER_STARTED)) {
                return null;
            }
            TaskManagerTracker tracker =
                    (TaskManagerTracker) read(of, ReflectedMember.TASK_MANAGER_TRACKER);
            for (TaskManagerInfo each : tracker.getRegisteredTaskManagers()) {
                TaskExecutorConnection known = each.getTaskExecutorConnection();
                String host = host(asks.getTaskExecutorAddress());
                if (known.getResourceID().equals(asks.getResourceId())
                        && !host(known).equals(host)) {
                    return refused(known, host);
                }
            }
        } catch (RuntimeException e) {
            LOG.warn("edgeplace: whether a TaskManager's id is taken is not known", e);
        }
        return null;
    }

    private static RegistrationResponse refused(TaskExecutorConnection known, String host) {
        String id = known.getResourceID().toString();
        String why =
                "a TaskManager at " + host(known) + " has the taskmanager.resource-id " + id
                        + ", and is registered: give each TaskManager its own";
        if (Agent.get().twins.refuse(id, host, host(known))) {
            LOG.warn("edgeplace: the TaskManager {} at {} is refused: {}", id, host, why);
        }
        return new RegistrationResponse.Failure(new FlinkException(why));
    }

    /** Publishes the ResourceManager's TaskManagers, from its main thread. */
    private static void probe() {
        FineGrainedSlotManager probed = slotManager;
        try {
            mainThread.execute(() -> publish(probed));
        } catch (RuntimeException e) {
            // The ResourceManager has ended.
            TaskManagers.publish(false, List.of());
        }
    }

    /** Starts another round of allocation; see {@link SteeringStrategy}. */
    private static void checkAgain() {
        mainThread.execute(slotManager::triggerResourceRequirementsCheck);
    }

    private static void publish(FineGrainedSlotManager of) {
        boolean active = (boolean) read(of, ReflectedMember.SLOT_MANAGER_STARTED);
        List<TaskManagers.TaskManager> registered = new ArrayList<>();
        if (active) {
            TaskManagerTracker tracker =
                    (TaskManagerTracker) read(of, ReflectedMember.TASK_MANAGER_TRACKER);
            Set<InstanceID> there = new HashSet<>();
            for (TaskManagerInfo each : tracker.getRegisteredTaskManagers()) {
                registered.add(described(each));
                there.add(each.getInstanceId());
            }
            FIRST_SEEN_MS.keySet().retainAll(there);
            Set<String> closed =
                    SteeringStrategy.closedIds(
                            tracker.getRegisteredTaskManagers(), Agent.get().cordons);
            if (!closed.equals(lastClosed)) {
                lastClosed = closed;
                of.triggerResourceRequirementsCheck(); // Jobs may wait for what is open now.
            }
        }
        TaskManagers.publish(active, registered);
    }

    private static TaskManagers.TaskManager described(TaskManagerInfo info) {
        Map<JobID, List<ResourceProfile>> slotsOfJobs = new HashMap<>();
        for (TaskManagerSlotInformation slot : info.getAllocatedSlots().values()) {
            slotsOfJobs
                    .computeIfAbsent(slot.getJobId(), j -> new ArrayList<>())
                    .add(slot.getResourceProfile());
        }
        long since =
                FIRST_SEEN_MS.computeIfAbsent(
                        info.getInstanceId(), i -> System.currentTimeMillis());
        return new TaskManagers.TaskManager(
                info.getTaskExecutorConnection().getResourceID().toString(),
                host(info.getTaskExecutorConnection()),
                info.getDefaultNumSlots(),
                info.getDefaultSlotResourceProfile(),
                info.getAvailableResource(),
                slotsOfJobs,
                since);
    }

    /** Returns the host in an address such as {@code pekko.tcp://flink@10.0.1.11:6122/user/...}. */
    static String host(TaskExecutorConnection connection) {
        return host(connection.getTaskExecutorGateway().getAddress());
    }

    private static String host(String address) {
        String behind = address.substring(address.indexOf('@') + 1);
        if (behind.startsWith("[")) {
            return behind.substring(0, behind.indexOf(']') + 1);
        }
        int colon = behind.indexOf(':');
        return colon < 0 ? "" : behind.substring(0, colon);
    }

    private static Object read(FineGrainedSlotManager of, ReflectedMember member) {
        try {
            Field field = FineGrainedSlotManager.class.getDeclaredField(member.memberName);
            field.setAccessible(true);
            return field.get(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e); // It was there when the agent started.
        }
    }
}
