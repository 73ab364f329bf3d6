package org.apache.flink.runtime.jobmaster;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.checkpoint.CheckpointIDCounter;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStore;
import org.apache.flink.runtime.checkpoint.DeactivatedCheckpointCompletedCheckpointStore;
import org.apache.flink.runtime.checkpoint.DeactivatedCheckpointIDCounter;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.executiongraph.ExecutionVertex;
import org.apache.flink.runtime.executiongraph.JobStatusListener;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.metrics.groups.JobManagerJobMetricGroup;
import org.apache.flink.runtime.scheduler.DefaultScheduler;
import org.apache.flink.runtime.scheduler.SchedulerBase;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.ReflectedMember;

/**
 * Replaces the scheduler of a running job by one of another parallelism, in the same JobMaster.
 *
 * <p>It first cancels all subtasks. Then, in one turn of the JobMaster's main thread, it closes the
 * former scheduler and makes a new one from the same job graph. The new scheduler gets the
 * checkpoint store and the checkpoint counter of the former one, so no checkpoint is read, copied or
 * deleted. The JobMaster, its slots and its connections stay.
 *
 * <p>If the new scheduler cannot be made, or a subtask fails before all have run, a scheduler of the
 * former parallelism follows, made in the same way from the same checkpoint. If this one cannot be
 * made either, the JobMaster fails. With high availability, another JobMaster then starts.
 *
 * <p>All methods run in the JobMaster's main thread.
 */
public final class SchedulerReplacement {
    /** The trial of a new scheduler: it is passed once all subtasks have run. */
    public interface Trial {
        void passed();

        /** Takes the job back to its former parallelism. */
        void failed(Throwable cause);
    }

    private static final Logger LOG = LoggerFactory.getLogger(SchedulerReplacement.class);
    /** A subtask that fails in the trial does not restart: the job goes back long before. */
    private static final long NO_RESTART_MS = 3_600_000;

    private static final Map<JobID, WeakReference<JobMaster>> MASTERS = new ConcurrentHashMap<>();
    /** What each JobMaster has given its schedulers to hear of the job's states. */
    private static final Map<JobMaster, WeakReference<JobStatusListener>> LISTENERS =
            Collections.synchronizedMap(new WeakHashMap<>());
    private static final Map<JobID, SchedulerReplacement> UNDER_WAY = new ConcurrentHashMap<>();

    private final JobMaster master;
    private final JobID job;
    private final Executor mainThread;
    /** Hears of the job's states: the JobMaster and, since Flink 2.3, the job's application. */
    private final JobStatusListener listener;
    private final Map<JobVertexID, Integer> wanted;
    private final Consumer<Trial> beforeWanted;
    private final Map<JobVertexID, Integer> former;
    private final Consumer<Throwable> beforeFormer;

    /** The parallelism of the scheduler that is being made. */
    private Map<JobVertexID, Integer> parallelism;
    private CompletedCheckpointStore checkpoints;
    private CheckpointIDCounter counter;
    /** Why the job goes back to its former parallelism, or null. */
    private Throwable failure;

    private SchedulerReplacement(
            JobMaster master,
            JobID job,
            Executor mainThread,
            JobStatusListener listener,
            Map<JobVertexID, Integer> wanted,
            Consumer<Trial> beforeWanted,
            Map<JobVertexID, Integer> former,
            Consumer<Throwable> beforeFormer) {
        this.master = master;
        this.job = job;
        this.mainThread = mainThread;
        this.listener = listener;
        this.wanted = wanted;
        this.beforeWanted = beforeWanted;
        this.former = former;
        this.beforeFormer = beforeFormer;
    }

    /** Remembers who hears of a job's states, before its JobMaster makes a scheduler. */
    static void heardBy(JobMaster master, JobStatusListener listener) {
        LISTENERS.put(master, new WeakReference<>(listener));
    }

    static void register(JobMaster master) {
        Object scheduler =
                Reflected.get(JobMaster.class, master, ReflectedMember.JOB_MASTERS_SCHEDULER);
        if (scheduler instanceof DefaultScheduler) {
            MASTERS.values().removeIf(each -> each.get() == null);
            MASTERS.put(
                    ((DefaultScheduler) scheduler).getExecutionGraph().getJobID(),
                    new WeakReference<>(master));
        }
    }

    /** Returns the parallelism of a scheduler that replaces another, or null if none does. */
    static Map<JobVertexID, Integer> parallelism(JobID job) {
        SchedulerReplacement underWay = UNDER_WAY.get(job);
        return underWay == null ? null : underWay.parallelism;
    }

    /** Returns the checkpoints of the scheduler that is being replaced, or null if none is. */
    static CompletedCheckpointStore checkpoints(JobID job) {
        SchedulerReplacement underWay = UNDER_WAY.get(job);
        return underWay == null ? null : underWay.checkpoints;
    }

    /** Returns the checkpoint counter of the scheduler that is being replaced, or null. */
    static CheckpointIDCounter counter(JobID job) {
        SchedulerReplacement underWay = UNDER_WAY.get(job);
        return underWay == null ? null : underWay.counter;
    }

    /**
     * Replaces the scheduler of a job that has a checkpoint.
     *
     * @param mainThread the main thread of the JobMaster
     * @param wanted the new parallelism of each vertex
     * @param beforeWanted called before the new scheduler is made
     * @param former the present parallelism of each vertex
     * @param beforeFormer called before the job goes back, with the reason
     */
    public static void begin(
            DefaultScheduler scheduler,
            Executor mainThread,
            Map<JobVertexID, Integer> wanted,
            Consumer<Trial> beforeWanted,
            Map<JobVertexID, Integer> former,
            Consumer<Throwable> beforeFormer) {
        JobID job = scheduler.getExecutionGraph().getJobID();
        WeakReference<JobMaster> known = MASTERS.get(job);
        JobMaster master = known == null ? null : known.get();
        WeakReference<JobStatusListener> given = LISTENERS.get(master);
        // Its schedulers hold it.
        JobStatusListener listener = given == null ? null : given.get();
        if (master == null
                || listener == null
                || Reflected.get(JobMaster.class, master, ReflectedMember.JOB_MASTERS_SCHEDULER)
                        != scheduler) {
            throw new IllegalStateException("the job's JobMaster is not known");
        }
        SchedulerReplacement replacement =
                new SchedulerReplacement(
                        master,
                        job,
                        mainThread,
                        listener,
                        wanted,
                        beforeWanted,
                        former,
                        beforeFormer);
        replacement.parallelism = wanted;
        replacement.cancel(scheduler);
    }

    private void cancel(DefaultScheduler scheduler) {
        CheckpointCoordinator coordinator =
                scheduler.getExecutionGraph().getCheckpointCoordinator();
        if (coordinator.isPeriodicCheckpointingConfigured()) {
            coordinator.stopCheckpointScheduler();
        }
        Set<ExecutionVertexID> all = new HashSet<>();
        for (ExecutionVertex each : scheduler.getExecutionGraph().getAllExecutionVertices()) {
            all.add(each.getID());
        }
        ((CompletableFuture<?>)
                        Reflected.call(
                                DefaultScheduler.class,
                                scheduler,
                                ReflectedMember.CANCEL_TASKS,
                                all))
                .whenCompleteAsync((x, problem) -> cancelled(scheduler, problem), mainThread);
    }

    private void cancelled(DefaultScheduler scheduler, Throwable problem) {
        ExecutionGraph graph = scheduler.getExecutionGraph();
        JobStatus state = graph.getState();
        if (state != JobStatus.RUNNING && state != JobStatus.RESTARTING) {
            LOG.info("edgeplace: job {} is {}, and is not rescaled", job, state);
        } else if (problem != null) {
            scheduler.handleGlobalFailure(problem); // The job restarts as it was.
        } else if (isAnyUp(graph)) {
            cancel(scheduler); // A fail-over has deployed subtasks meanwhile.
        } else {
            replace(scheduler);
        }
    }

    private static boolean isAnyUp(ExecutionGraph graph) {
        for (ExecutionVertex each : graph.getAllExecutionVertices()) {
            if (!each.getExecutionState().isTerminal()) {
                return true;
            }
        }
        return false;
    }

    /** Closes a scheduler whose subtasks have all ended, and makes the next one. */
    private void replace(SchedulerBase ended) {
        takeCheckpoints(ended);
        JobGraph graph =
                (JobGraph) Reflected.call(SchedulerBase.class, ended, ReflectedMember.JOB_GRAPH);
        ended.closeAsync();
        UNDER_WAY.put(job, this);
        try {
            if (failure == null) {
                try {
                    Watch trial = new Watch();
                    beforeWanted.accept(trial);
                    makeScheduler(graph, made -> watch(made, trial));
                    return;
                } catch (Throwable e) {
                    LOG.error("edgeplace: job {} cannot be rescaled, and goes back", job, e);
                    failure = e;
                }
            }
            parallelism = former;
            beforeFormer.accept(failure);
            makeScheduler(graph, made -> {});
        } catch (Throwable e) {
            LOG.error("edgeplace: job {} cannot go back", job, e);
            Reflected.call(JobMaster.class, master, ReflectedMember.FAIL_JOB_MASTER, e);
        } finally {
            UNDER_WAY.remove(job);
        }
    }

    /** Takes store and counter away from a scheduler, which would close them when it closes. */
    private void takeCheckpoints(SchedulerBase ended) {
        Class<?> of = SchedulerBase.class;
        checkpoints =
                (CompletedCheckpointStore) Reflected.get(of, ended, ReflectedMember.CHECKPOINTS);
        counter = (CheckpointIDCounter) Reflected.get(of, ended, ReflectedMember.CHECKPOINT_COUNTER);
        Reflected.set(
                of,
                ended,
                ReflectedMember.CHECKPOINTS,
                DeactivatedCheckpointCompletedCheckpointStore.INSTANCE);
        Reflected.set(
                of,
                ended,
                ReflectedMember.CHECKPOINT_COUNTER,
                DeactivatedCheckpointIDCounter.INSTANCE);
    }

    private void makeScheduler(JobGraph graph, Consumer<SchedulerBase> beforeStart)
            throws ReflectiveOperationException {
        setJobGraph(graph);
        SchedulerBase made = (SchedulerBase) createScheduler(graph, newMetricGroup(graph));
        try {
            Reflected.set(JobMaster.class, master, ReflectedMember.JOB_MASTERS_SCHEDULER, made);
            beforeStart.accept(made);
            Reflected.call(JobMaster.class, master, ReflectedMember.START_SCHEDULING);
        } catch (RuntimeException e) {
            takeCheckpoints(made);
            made.closeAsync();
            throw e;
        }
    }

    /** The JobMaster may have a stream graph, from which each scheduler would make a job graph. */
    private void setJobGraph(JobGraph graph) throws IllegalAccessException {
        for (Field field : JobMaster.class.getDeclaredFields()) {
            if (field.getType().isInstance(graph) && field.getType() != Object.class) {
                field.setAccessible(true);
                field.set(master, graph);
            }
        }
    }

    /** Makes a metric group: the old one would refuse gauges of names that it has. */
    private JobManagerJobMetricGroup newMetricGroup(JobGraph graph) {
        ReflectedMember member = ReflectedMember.JOB_MASTERS_METRICS;
        JobManagerJobMetricGroup group =
                (JobManagerJobMetricGroup) Reflected.get(JobMaster.class, master, member);
        group.close();
        JobManagerJobMetricGroup made = group.parent().addJob(job, graph.getName());
        Reflected.set(JobMaster.class, master, member, made);
        return made;
    }

    private Object createScheduler(JobGraph graph, JobManagerJobMetricGroup metrics)
            throws ReflectiveOperationException {
        JobMasterConfiguration configuration =
                (JobMasterConfiguration)
                        Reflected.get(
                                JobMaster.class, master, ReflectedMember.JOB_MASTERS_CONFIGURATION);
        Method create = Reflected.method(JobMaster.class, ReflectedMember.CREATE_SCHEDULER);
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : create.getParameterTypes()) {
            if (type == SlotPoolServiceSchedulerFactory.class) {
                arguments.add(
                        DefaultSlotPoolServiceSchedulerFactory.fromConfiguration(
                                configuration.getConfiguration(),
                                graph.getJobType(),
                                graph.isDynamic()));
            } else if (type == ExecutionDeploymentTracker.class) {
                arguments.add(
                        Reflected.get(
                                JobMaster.class, master, ReflectedMember.JOB_MASTERS_DEPLOYMENTS));
            } else if (type == JobManagerJobMetricGroup.class) {
                arguments.add(metrics);
            } else if (type == JobStatusListener.class) {
                arguments.add(listener);
            } else {
                throw new IllegalStateException("a scheduler needs a " + type);
            }
        }
        return create.invoke(master, arguments.toArray());
    }

    /** Takes the job back at the first failure, instead of asking the restart strategy. */
    private static void watch(SchedulerBase made, Watch trial) {
        Object handler =
                Reflected.get(DefaultScheduler.class, made, ReflectedMember.FAILURE_HANDLER);
        Object stock =
                Reflected.get(handler.getClass(), handler, ReflectedMember.RESTART_STRATEGY);
        trial.scheduler = (DefaultScheduler) made;
        trial.end =
                () ->
                        Reflected.set(
                                handler.getClass(), handler, ReflectedMember.RESTART_STRATEGY, stock);
        Class<?>[] strategy = stock.getClass().getInterfaces();
        Reflected.set(
                handler.getClass(),
                handler,
                ReflectedMember.RESTART_STRATEGY,
                Proxy.newProxyInstance(
                        SchedulerReplacement.class.getClassLoader(),
                        strategy,
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "notifyFailure":
                                    trial.failed((Throwable) arguments[0]);
                                    return method.getReturnType() == boolean.class ? true : null;
                                case "canRestart":
                                    return true;
                                case "getBackoffTime":
                                    return NO_RESTART_MS;
                                default:
                                    return method.invoke(stock, arguments);
                            }
                        }));
    }

    private final class Watch implements Trial {
        private DefaultScheduler scheduler;
        private Runnable end;

        @Override
        public void passed() {
            end.run();
        }

        @Override
        public void failed(Throwable cause) {
            if (failure == null) {
                failure = cause;
                LOG.warn("edgeplace: job {} fails when rescaled, and goes back", job, cause);
                // In a later turn, after the scheduler has handled the failure.
                mainThread.execute(() -> cancel(scheduler));
            }
        }
    }
}
