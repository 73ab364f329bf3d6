package testbed.jobs;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A source that ends at once beside one that does not: {@code backfill -> known} and {@code live ->
 * new}, both {@code -> merge}. Subtasks of the first pair are FINISHED while the job runs on.
 *
 * <p>Arguments, each {@code key=value}: {@code name} of the job, default "finished source".
 */
public final class FinishedSource {
    private static final int PARALLELISM = 2;
    private static final double PER_SECOND = 50;

    private FinishedSource() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(PARALLELISM);
        env.enableCheckpointing(1000);
        env.disableOperatorChaining();
        DataStream<Long> known =
                env.fromSequence(0, 99).name("backfill").map(each -> each).name("known");
        // The source looks for a file: one that cannot be.
        PacedNumbers numbers = new PacedNumbers(Long.MAX_VALUE, PER_SECOND, "/dev/null/never");
        DataStream<Long> live =
                env.fromSource(numbers, WatermarkStrategy.noWatermarks(), "live")
                        .map(each -> each)
                        .name("new");
        known.union(live).rebalance().map(each -> each).name("merge");
        env.execute(arguments.text("name", "finished source"));
    }
}
