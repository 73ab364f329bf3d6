package testbed.jobs;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Two pipelines of FORWARD streams with nothing between them, {@code left numbers -> left map} and
 * {@code right numbers -> right map}: each subtask of a pipeline is a failover region of its own.
 *
 * <p>Arguments, each {@code key=value}:
 *
 * <ul>
 *   <li>{@code fail}: a file; once it is there, one subtask of "left map" removes it and fails
 *   <li>{@code parallelism}: of every operator, default 2
 *   <li>{@code per-second}: of all subtasks of a source together, default 100
 *   <li>{@code checkpoint-ms}: interval, default 1000
 * </ul>
 */
public final class TwoPipelines {
    private TwoPipelines() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        int parallelism = arguments.integer("parallelism", 2);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(parallelism);
        env.enableCheckpointing(arguments.whole("checkpoint-ms", 1000));
        env.disableOperatorChaining();
        String fail = arguments.text("fail");
        double perSubtask = arguments.whole("per-second", 100) / (double) parallelism;
        for (String side : new String[] {"left", "right"}) {
            // The source looks for a file too: one that cannot be.
            PacedNumbers numbers = new PacedNumbers(Long.MAX_VALUE, perSubtask, fail + "/never");
            env.fromSource(numbers, WatermarkStrategy.noWatermarks(), side + " numbers")
                    .map(new FailOnce(side.equals("left") ? fail : null))
                    .name(side + " map");
        }
        env.execute(arguments.text("name", "two pipelines"));
    }

    private static final class FailOnce implements MapFunction<Long, Long> {
        private static final long serialVersionUID = 1L;

        private final String file;

        FailOnce(String file) {
            this.file = file;
        }

        @Override
        public Long map(Long number) throws Exception {
            if (file != null && Files.deleteIfExists(Path.of(file))) {
                throw new IllegalStateException("told to fail by " + file);
            }
            return number;
        }
    }
}
