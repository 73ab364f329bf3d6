package testbed.jobs;

import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Measures how old the newest record is that went into a result, or with synthetic event time,
 * which has no age, what the results are.
 *
 * <p>With the wall clock subtask i adds a line to {@code latency-i.jsonl} every second, see {@link
 * Latencies}; otherwise it writes {@code result-i.json} when the job ends, see {@link Findings}.
 * What it has found so far is in the checkpoints.
 */
final class LatencySink<T extends Result> extends AbstractStreamOperator<Void>
        implements OneInputStreamOperator<T, Void> {
    private static final long serialVersionUID = 1L;
    private static final long LINE_MS = 1000;

    private final String folder;
    private final boolean synthetic;
    private transient Latencies latencies;
    private transient Findings findings;
    private transient ListState<Findings> stored;
    private transient Writer lines;

    LatencySink(String folder, boolean synthetic) {
        this.folder = folder;
        this.synthetic = synthetic;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        findings = new Findings();
        stored =
                context.getOperatorStateStore()
                        .getListState(new ListStateDescriptor<>("findings", Findings.TYPE));
        for (Findings each : stored.get()) {
            findings = each;
        }
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        stored.update(List.of(findings));
    }

    @Override
    public void open() throws Exception {
        super.open();
        if (synthetic) {
            return;
        }
        latencies = new Latencies();
        lines =
                Files.newBufferedWriter(
                        file("latency", "jsonl"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
        getProcessingTimeService().scheduleAtFixedRate(now -> writeLine(), LINE_MS, LINE_MS);
    }

    @Override
    public void processElement(StreamRecord<T> record) {
        T result = record.getValue();
        if (!synthetic) {
            latencies.add(System.currentTimeMillis() - result.newestMs());
        } else if (result.key() == null) {
            findings.add(result.text());
        } else {
            findings.put(result.key(), result.text());
        }
    }

    @Override
    public void finish() throws Exception {
        if (synthetic) {
            Files.writeString(file("result", "json"), findings.json());
        } else {
            writeLine();
        }
        super.finish();
    }

    @Override
    public void close() throws Exception {
        if (lines != null) {
            lines.close();
        }
        super.close();
    }

    private void writeLine() throws Exception {
        lines.write(latencies.line(System.currentTimeMillis()));
        lines.flush();
    }

    private Path file(String what, String format) {
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        return Path.of(folder, what + "-" + subtask + "." + format);
    }
}
