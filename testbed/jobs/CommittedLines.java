package testbed.jobs;

import java.nio.charset.StandardCharsets;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;

/**
 * Flink's own exactly-once sink, with a line for each record: a file gets its final name, which does
 * not begin with a dot, when the checkpoint that closed it is complete.
 */
final class CommittedLines {
    private CommittedLines() {}

    static <T> FileSink<T> in(String folder) {
        return FileSink.<T>forRowFormat(
                        new Path(folder),
                        (record, out) ->
                                out.write((record + "\n").getBytes(StandardCharsets.UTF_8)))
                .withBucketAssigner(new BasePathBucketAssigner<>())
                .withRollingPolicy(OnCheckpointRollingPolicy.build())
                .build();
    }
}
