package testbed.jobs;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * What the jobs of the headline experiment have in common: sources at some sites, one sink that
 * measures, and a job vertex for each operator.
 *
 * <p>Arguments, each {@code key=value}:
 *
 * <ul>
 *   <li>{@code out}: existing folder for what sources and sink write
 *   <li>{@code sources}: sites, each with a subtask of the source and of the operators that may run
 *       beside it, default 2
 *   <li>{@code parallelism}: of the operators behind a HASH, default 2
 *   <li>{@code per-second}: records of one source subtask, or max; default 1000
 *   <li>{@code rate-file}: changes that while the job runs, see {@link Pace}
 *   <li>{@code offered}: a file with what is offered instead, see {@link Offered}: a job that stood
 *       still makes up for it
 *   <li>{@code records}: of one source subtask until it ends; default: it never does
 *   <li>{@code clock}, {@code synthetic-per-second}: see {@link Clock}
 *   <li>{@code checkpoint-ms}: interval, default 5000; 0 for no checkpoints
 *   <li>{@code name}: of the job, default its class
 * </ul>
 */
final class HeadlineJob {
    // Weeks at any rate, and the product with the number of sites is still a long.
    private static final long ENDLESS = 1L << 42;
    static final int SOURCES = 2;

    final Arguments arguments;
    final StreamExecutionEnvironment env;
    final int sources;
    private final int parallelism;
    private final Clock clock;

    HeadlineJob(String[] args) {
        arguments = new Arguments(args);
        sources = arguments.integer("sources", SOURCES);
        parallelism = arguments.integer("parallelism", 2);
        clock = Clock.of(arguments);
        Configuration configuration = new Configuration();
        // A type that Flink cannot serialise by itself shall fail, not become slow.
        configuration.setString("pipeline.generic-types", "false");
        String storage = LargeStateAtJobManager.class.getName();
        configuration.setString("execution.checkpointing.storage", storage);
        configuration.setString("state.checkpoint-storage", storage); // Its name before Flink 1.20.
        env = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(parallelism);
        // No operator keeps or changes what it has passed on.
        env.getConfig().enableObjectReuse();
        long checkpointMs = arguments.whole("checkpoint-ms", 5000);
        if (checkpointMs > 0) {
            env.enableCheckpointing(checkpointMs);
        }
    }

    /** The records of all sites; an operator that is to share the source's task must follow. */
    <T> SingleOutputStreamOperator<T> source(String name, Recipe<T> recipe, Class<T> type) {
        RatedSource<T> source =
                new RatedSource<>(
                        recipe,
                        clock,
                        arguments.whole("records", ENDLESS),
                        arguments.text("per-second", "1000"),
                        arguments.text("rate-file", null),
                        arguments.text("out"),
                        arguments.text("offered", null));
        return env.fromSource(
                        source,
                        WatermarkStrategy.forMonotonousTimestamps(),
                        name,
                        TypeInformation.of(type))
                .setParallelism(sources)
                .uid(name);
    }

    /** Makes an operator a job vertex that can run beside each source, joined by FORWARD. */
    <T> SingleOutputStreamOperator<T> atSites(
            String name, SingleOutputStreamOperator<T> operator) {
        return vertex(name, operator).setParallelism(sources);
    }

    /** Makes an operator behind a HASH a job vertex. */
    <T> SingleOutputStreamOperator<T> keyed(String name, SingleOutputStreamOperator<T> operator) {
        return vertex(name, operator).setParallelism(parallelism);
    }

    /** Makes an operator a job vertex with one subtask. */
    <T> SingleOutputStreamOperator<T> single(String name, SingleOutputStreamOperator<T> operator) {
        return vertex(name, operator).setParallelism(1);
    }

    /** Ends the job in the sink that measures, and starts it. */
    <T extends Result> void run(String name, DataStream<T> results) throws Exception {
        LatencySink<T> sink = new LatencySink<>(arguments.text("out"), clock.isSynthetic());
        single("sink", results.transform("sink", Types.VOID, sink));
        String jobName = arguments.text("name", name);
        arguments.refuseOthers();
        env.execute(jobName);
    }

    private static <T> SingleOutputStreamOperator<T> vertex(
            String name, SingleOutputStreamOperator<T> operator) {
        return operator.name(name).uid(name).disableChaining();
    }
}
