package org.apache.flink.runtime.scheduler;

import java.io.IOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlansFolder;

/** Writes the status file of one job when its content changes. */
final class StatusReport {
    private final PlansFolder folder;
    private final String jobId;
    private final String jobName;
    private Map<String, Object> last = Map.of();

    StatusReport(PlansFolder folder, String jobId, String jobName) {
        this.folder = folder;
        this.jobId = jobId;
        this.jobName = jobName;
    }

    /** Writes the fields that {@code docs/flink-agent.md} describes. */
    void write(
            String state,
            PlanFile plan,
            String appliedSha256,
            List<String> reasons,
            Collection<String> waitingFor,
            List<Map<String, Object>> away,
            int subtasks,
            int exact,
            int moves)
            throws IOException {
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("edgeplace_status", 1);
        status.put("job_id", jobId);
        status.put("job_name", jobName);
        status.put("state", state);
        status.put("plan_file", plan == null ? null : plan.path.toString());
        status.put("plan_sha256", plan == null ? null : plan.sha256);
        status.put("applied_sha256", appliedSha256);
        status.put("reasons", reasons);
        status.put("waiting_for", waitingFor);
        status.put("away", away);
        status.put("subtasks", subtasks);
        status.put("exact", exact);
        status.put("moves", moves);
        if (!status.equals(last)) {
            Map<String, Object> written = new LinkedHashMap<>(status);
            written.put("updated_ms", System.currentTimeMillis());
            folder.writeStatus(jobId, written);
            last = status;
        }
    }
}
