package org.apache.flink.runtime.scheduler;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.clusterframework.types.ResourceProfile;
import org.apache.flink.runtime.clusterframework.types.SlotProfile;
import org.apache.flink.runtime.executiongraph.Execution;
import org.apache.flink.runtime.jobmanager.scheduler.SlotSharingGroup;
import org.apache.flink.runtime.jobmaster.SlotRequestId;
import org.apache.flink.runtime.jobmaster.slotpool.DeclarativeSlotPool;
import org.apache.flink.runtime.jobmaster.slotpool.DeclarativeSlotPoolService;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProvider;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotProviderImpl;
import org.apache.flink.runtime.jobmaster.slotpool.PhysicalSlotRequest;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.ReflectedMember;

/** Access to Flink's scheduler that needs reflection: private, or different between releases. */
final class Internals {
    private static final long LONG_AFTER_ANY_TIMEOUT_MS = 1_000_000_000_000L;

    private Internals() {}

    /** Returns the scheduler whose inner class the context is. */
    static DefaultScheduler scheduler(ExecutionSlotAllocationContext context) {
        for (Field field : context.getClass().getDeclaredFields()) {
            if (SchedulerBase.class.isAssignableFrom(field.getType())) {
                return (DefaultScheduler) unchecked(() -> open(field).get(context));
            }
        }
        throw new IllegalStateException("edgeplace: " + context.getClass() + " has no scheduler");
    }

    /** Returns an empty group of subtasks that share a slot. */
    static ExecutionSlotSharingGroup group(ResourceProfile profile) {
        return (ExecutionSlotSharingGroup)
                unchecked(
                        () -> {
                            Constructor<?> made =
                                    ExecutionSlotSharingGroup.class.getDeclaredConstructors()[0];
                            made.setAccessible(true);
                            if (made.getParameterCount() == 1) { // Since 2.0.
                                SlotSharingGroup group = new SlotSharingGroup();
                                group.setResourceProfile(profile);
                                return made.newInstance(group);
                            }
                            Object group = made.newInstance();
                            Method set =
                                    ExecutionSlotSharingGroup.class.getDeclaredMethod(
                                            "setResourceProfile", ResourceProfile.class);
                            set.setAccessible(true);
                            set.invoke(group, profile);
                            return group;
                        });
    }

    /**
     * Returns a request that asks for a slot of another size.
     *
     * @param preferred slots of this size, in order. Flink takes a preferred slot that is free, and
     *     fails if its size is another
     */
    static PhysicalSlotRequest resized(
            PhysicalSlotRequest request,
            ResourceProfile size,
            Collection<AllocationID> preferred) {
        SlotProfile asked = request.getSlotProfile();
        SlotProfile resized =
                SlotProfile.priorAllocation(
                        size,
                        size,
                        asked.getPreferredLocations(),
                        preferred,
                        Set.of());
        Constructor<?> made = PhysicalSlotRequest.class.getConstructors()[0];
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : made.getParameterTypes()) {
            if (type == SlotRequestId.class) {
                arguments.add(request.getSlotRequestId());
            } else if (type == SlotProfile.class) {
                arguments.add(resized);
            } else if (type == boolean.class) {
                arguments.add(request.willSlotBeOccupiedIndefinitely());
            } else { // The load, since 2.2.
                arguments.add(
                        unchecked(
                                () ->
                                        PhysicalSlotRequest.class
                                                .getMethod("getTaskExecutionLoad")
                                                .invoke(request)));
            }
        }
        return (PhysicalSlotRequest) unchecked(() -> made.newInstance(arguments.toArray()));
    }

    /**
     * Cancels all subtasks and deploys them again from the latest checkpoint, at once. Nothing has
     * failed, so the restart strategy is not asked.
     */
    static void restartAll(
            DefaultScheduler scheduler, Set<ExecutionVertexID> subtasks, Throwable cause) {
        Method restart = null;
        for (Method each : DefaultScheduler.class.getDeclaredMethods()) {
            if (each.getName().equals(ReflectedMember.RESTART_TASKS.memberName)) {
                restart = each;
            }
        }
        Method found = restart;
        unchecked(
                () -> {
                    Object result = restartable(found.getParameterTypes()[0], subtasks, cause);
                    found.setAccessible(true);
                    return found.invoke(scheduler, result);
                });
    }

    /** Returns a FailureHandlingResult. Its package and its parameters differ between releases. */
    private static Object restartable(
            Class<?> type, Set<ExecutionVertexID> subtasks, Throwable cause)
            throws ReflectiveOperationException {
        for (Method each : type.getDeclaredMethods()) {
            if (each.getName().equals("restartable")) {
                List<Object> arguments = new ArrayList<>();
                boolean isDelay = false;
                for (Class<?> parameter : each.getParameterTypes()) {
                    if (parameter == Execution.class) {
                        arguments.add(null); // No subtask in particular.
                    } else if (parameter == Throwable.class) {
                        arguments.add(cause);
                    } else if (parameter == long.class) {
                        arguments.add(isDelay ? 0L : System.currentTimeMillis());
                        isDelay = true;
                    } else if (parameter == CompletableFuture.class) {
                        arguments.add(CompletableFuture.completedFuture(Map.of()));
                    } else if (parameter == Set.class) {
                        arguments.add(subtasks);
                    } else { // Global, and a root cause.
                        arguments.add(true);
                    }
                }
                each.setAccessible(true);
                return each.invoke(null, arguments.toArray());
            }
        }
        throw new NoSuchMethodException(type + ".restartable");
    }

    /** Gives slots back that no requirement needs, now and not after slot.idle.timeout. */
    static void releaseIdleSlots(DeclarativeSlotPool pool) {
        pool.releaseIdleSlots(System.currentTimeMillis() + LONG_AFTER_ANY_TIMEOUT_MS);
    }

    /** Returns what holds the slots of a job. */
    static DeclarativeSlotPool slotPool(PhysicalSlotProvider provider) {
        return (DeclarativeSlotPool) unchecked(
                () -> {
                    Field field =
                            PhysicalSlotProviderImpl.class.getDeclaredField(
                                    ReflectedMember.SLOT_POOL.memberName);
                    Object service = open(field).get(provider);
                    Method pool =
                            DeclarativeSlotPoolService.class.getDeclaredMethod(
                                    ReflectedMember.DECLARATIVE_SLOT_POOL.memberName);
                    pool.setAccessible(true);
                    return pool.invoke(service);
                });
    }

    private interface Reflection {
        Object run() throws ReflectiveOperationException;
    }

    private static Object unchecked(Reflection reflection) {
        try {
            return reflection.run();
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e); // FlinkCheck has found it.
        }
    }

    private static Field open(Field field) {
        field.setAccessible(true);
        return field;
    }
}
