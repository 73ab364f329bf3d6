package org.apache.flink.runtime.scheduler;

import static dev.edgeplace.flink.PlanSettings.UNKNOWN;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;

/**
 * The agent's figures of one job among Flink's metrics: whatever reporter the user has shows them.
 *
 * <p>A job that is rescaled keeps its metric group and gets another scheduler: the figures belong to
 * the group, because Flink accepts a name once. Reporters read them in threads of their own.
 */
final class JobGauges {
    private static final String GROUP = "edgeplace";

    private static final Map<MetricGroup, JobGauges> KNOWN =
            Collections.synchronizedMap(new WeakHashMap<>());

    private volatile int subtasks;
    private volatile int exact;
    private volatile int away;
    private volatile int waiting;
    private volatile int moves;
    private volatile long lastMoveMs = UNKNOWN;
    private volatile long predictedWanBytesPerS = UNKNOWN;
    private volatile double predictedHeadroom = UNKNOWN;

    private JobGauges() {}

    /** Returns the figures in the metric group of a job, which has them from now on. */
    static JobGauges of(MetricGroup job) {
        return KNOWN.computeIfAbsent(job, JobGauges::registered);
    }

    private static JobGauges registered(MetricGroup job) {
        JobGauges gauges = new JobGauges();
        MetricGroup group = job.addGroup(GROUP);
        group.gauge("subtasks", (Gauge<Integer>) () -> gauges.subtasks);
        group.gauge("exact", (Gauge<Integer>) () -> gauges.exact);
        group.gauge("away", (Gauge<Integer>) () -> gauges.away);
        group.gauge("waiting", (Gauge<Integer>) () -> gauges.waiting);
        group.gauge("moves", (Gauge<Integer>) () -> gauges.moves);
        group.gauge("lastMoveMs", (Gauge<Long>) () -> gauges.lastMoveMs);
        group.gauge(
                "predictedWanBytesPerSecond", (Gauge<Long>) () -> gauges.predictedWanBytesPerS);
        group.gauge("predictedHeadroom", (Gauge<Double>) () -> gauges.predictedHeadroom);
        return gauges;
    }

    /**
     * Sets the figures of where subtasks run.
     *
     * @param planned subtasks that a plan places: all of the job, or none
     * @param away those of them that run elsewhere
     * @param exact those of them that run where the plan says; the others wait
     */
    void setPlaces(int subtasks, int planned, int exact, int away) {
        this.subtasks = subtasks;
        this.exact = exact;
        this.away = away;
        this.waiting = planned - exact - away;
    }

    /**
     * Sets the figures of moves.
     *
     * @param lastMoveMs the time for which not all subtasks ran, or -1
     */
    void setMoves(int moves, long lastMoveMs) {
        this.moves = moves;
        this.lastMoveMs = lastMoveMs;
    }

    /** Sets what the plan in force promises; null: there is no plan. */
    void setPlan(JobPlan plan) {
        predictedWanBytesPerS = plan == null ? UNKNOWN : plan.settings.predictedWanBytesPerS();
        long percent = plan == null ? UNKNOWN : plan.settings.predictedHeadroomPercent();
        predictedHeadroom = percent == UNKNOWN ? UNKNOWN : percent / 100.0;
    }
}
