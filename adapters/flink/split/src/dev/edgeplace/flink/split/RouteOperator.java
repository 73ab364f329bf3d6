package dev.edgeplace.flink.split;

import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.operators.coordination.OperatorEventGateway;
import org.apache.flink.runtime.operators.coordination.OperatorEventHandler;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;

/** Passes records on and says where each goes, by {@link Rule}. Reports each second. */
final class RouteOperator<T, K> extends AbstractStreamOperator<T>
        implements OneInputStreamOperator<T, T>, OperatorEventHandler {
    private static final long serialVersionUID = 1L;
    private static final long SLIDE_MS = 1000;
    private static final String JOB_NAME = "<job_name>";

    private final KeySelector<T, K> key;
    private final transient ProcessingTimeService clock;
    private final transient OperatorEventGateway coordinator;
    private transient Rule rule;
    private transient Weights weights;
    private transient Lane lane;

    RouteOperator(StreamOperatorParameters<T> parameters, KeySelector<T, K> key, int workers) {
        this.key = key;
        rule = new Rule(workers);
        clock = parameters.getProcessingTimeService();
        coordinator =
                parameters
                        .getOperatorEventDispatcher()
                        .getOperatorEventGateway(parameters.getStreamConfig().getOperatorID());
        setup(
                parameters.getContainingTask(),
                parameters.getStreamConfig(),
                parameters.getOutput());
    }

    @Override
    public void open() throws Exception {
        super.open();
        lane = Lane.ofThisTask();
        report(null);
        clock.scheduleAtFixedRate(now -> report(rule.end()), SLIDE_MS, SLIDE_MS);
    }

    @Override
    public void processElement(StreamRecord<T> element) throws Exception {
        K of = key.getKey(element.getValue());
        // A null fails where it is combined, with the reason.
        lane.worker = rule.route(mixed(of == null ? 0 : of.hashCode()));
        output.collect(element);
        if (lane.workers != rule.workers()) {
            rule = new Rule(lane.workers);
            useWeights();
            report(null);
        }
    }

    @Override
    public void handleOperatorEvent(OperatorEvent event) {
        weights = (Weights) event;
        useWeights();
        report(null);
    }

    private void useWeights() {
        if (weights != null && weights.perWorker.length == rule.workers()) {
            rule.use(weights.perWorker);
        }
    }

    /** Reports a slide that has ended, or, without one, only which weights are in force. */
    private void report(Slide slide) {
        boolean isInForce = weights != null && weights.perWorker.length == rule.workers();
        coordinator.sendEventToCoordinator(
                new RouterReport(
                        getContainingTask().getEnvironment().getJobID().toString(),
                        getMetricGroup().getAllVariables().getOrDefault(JOB_NAME, ""),
                        getContainingTask().getEnvironment().getTaskInfo()
                                .getNumberOfParallelSubtasks(),
                        lane.workers,
                        isInForce ? weights.version : 0,
                        slide));
    }

    /** The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
    static long mixed(long state) {
        long z = state + 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
