package dev.edgeplace.flink.split;

import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.ChainingStrategy;
import org.apache.flink.streaming.api.operators.CoordinatedOperatorFactory;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;

/** Makes the routers, and their coordinator in the JobManager. */
final class RouteFactory<T, K> extends AbstractStreamOperatorFactory<T>
        implements OneInputStreamOperatorFactory<T, T>, CoordinatedOperatorFactory<T> {
    private static final long serialVersionUID = 1L;

    private final KeySelector<T, K> key;
    private final int workers;
    private final String combine;

    /**
     * @param workers the number of combining subtasks at the start of the job
     * @param combine their task
     */
    RouteFactory(KeySelector<T, K> key, int workers, String combine) {
        this.key = key;
        this.workers = workers;
        this.combine = combine;
        chainingStrategy = ChainingStrategy.ALWAYS;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <S extends StreamOperator<T>> S createStreamOperator(
            StreamOperatorParameters<T> parameters) {
        RouteOperator<T, K> router = new RouteOperator<>(parameters, key, workers);
        parameters
                .getOperatorEventDispatcher()
                .registerEventHandler(parameters.getStreamConfig().getOperatorID(), router);
        return (S) router;
    }

    @Override
    public OperatorCoordinator.Provider getCoordinatorProvider(String name, OperatorID id) {
        return new RouteCoordinator.Provider(id, combine, workers);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
        return RouteOperator.class;
    }
}
