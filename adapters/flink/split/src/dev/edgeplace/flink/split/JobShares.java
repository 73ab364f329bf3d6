package dev.edgeplace.flink.split;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.flink.runtime.operators.coordination.OperatorCoordinator.SubtaskGateway;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The weights of a job's routers, in the JobManager: reads {@code KEY.shares} from the folder of
 * plans when it has changed, sends the weights, and writes {@code JOBID.keys.json}.
 *
 * <p>A file is used as a whole or not at all. If it is not, the former weights stay. Files are read
 * and written by a thread of its own, without holding the lock that Flink's threads may wait for.
 */
final class JobShares {
    /** A property of the JobManager's JVM; edgeplace's agent sets it. */
    static final String PLANS = "edgeplace.plans";

    private static final Logger LOG = LoggerFactory.getLogger(JobShares.class);
    private static final long LOOK_MS = 250;
    private static final int LOOKS_PER_REPORT = 4;
    private static final long LARGEST_BYTES = 1 << 22;

    private final Path path = path();
    private final PlansFolder folder = path == null ? null : new PlansFolder(path);
    private final ScheduledExecutorService thread =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread made = new Thread(work, "edgeplace-shares");
                        made.setDaemon(true);
                        return made;
                    });
    private final List<Routers> all = new ArrayList<>();
    private final KeysReport report = new KeysReport();
    private String judged = "";
    private long highestEpoch;
    private int looks;
    private String lastProblem = "";

    private JobShares() {
        if (folder == null) {
            LOG.info("No folder of plans: set FLINK_CONF_DIR or -D{}=DIR. Weights stay even.", PLANS);
            return;
        }
        thread.scheduleWithFixedDelay(this::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
    }

    /** Adds routers to what their job has, or to nothing. */
    static JobShares with(Object shares, Routers routers) {
        JobShares own = shares == null ? new JobShares() : (JobShares) shares;
        synchronized (own) {
            own.all.add(routers);
        }
        own.restore(routers, routers.restored);
        return own;
    }

    /** Removes routers, and returns what the job has left, or null. */
    synchronized JobShares without(Routers routers) {
        all.remove(routers);
        if (!all.isEmpty()) {
            return this;
        }
        thread.execute(this::forget);
        thread.shutdown();
        return null;
    }

    synchronized void report(Routers routers, int subtask, RouterReport said) {
        report.jobId = said.jobId;
        report.jobName = said.jobName;
        routers.reports.put(subtask, said);
        if (said.slide != null) {
            routers.slides.put(subtask, said.slide);
        }
        int workers = said.workers == 0 ? routers.workers : said.workers;
        if (routers.workers != workers || routers.count != said.routers) {
            routers.workers = workers;
            routers.count = said.routers;
            routers.reports.keySet().removeIf(other -> other >= said.routers);
            routers.slides.keySet().removeIf(other -> other >= said.routers);
            dropIfUnfit(routers);
            judged = "";
        }
    }

    /** Notes that a router runs, and tells it the weights. */
    synchronized void ready(Routers routers, int subtask, SubtaskGateway gateway) {
        routers.gateways.put(subtask, gateway);
        routers.send(subtask);
    }

    synchronized void lost(Routers routers, int subtask) {
        routers.gateways.remove(subtask);
        routers.reports.remove(subtask);
        routers.slides.remove(subtask);
    }

    /** Returns what a checkpoint keeps of routers. */
    synchronized String text(Routers routers) {
        return routers.shares == null
                ? ""
                : Shares.text(routers.combine, routers.shares, highestEpoch);
    }

    /** Uses the weights of a checkpoint, unless newer ones are in force here. */
    synchronized void restore(Routers routers, String text) {
        if (text.isEmpty() || routers.shares != null) {
            return;
        }
        Shares kept = Shares.parse(text.getBytes(StandardCharsets.UTF_8));
        highestEpoch = Math.max(highestEpoch, kept.epoch);
        // The job may be named otherwise than when the checkpoint was taken.
        kept.tasks.values().forEach(routers::use);
    }

    private void dropIfUnfit(Routers routers) {
        Shares.OfTask former = routers.shares;
        boolean isUnfit =
                former != null
                        && (former.workers != routers.workers
                                || former.routers != 0 && former.routers != routers.count);
        if (isUnfit) {
            LOG.warn(
                    "{} has {} subtasks now, and the weights are for {}: even weights until there"
                            + " are others",
                    Quote.of(routers.combine),
                    routers.workers,
                    former.workers);
            routers.use(null);
        }
    }

    private void look() {
        try {
            String jobId = report.jobId;
            if (jobId == null || !Files.isDirectory(path)) {
                return;
            }
            read(folder.sharesPath(jobId, report.jobName));
            if (looks++ % LOOKS_PER_REPORT == 0) {
                Map<String, Object> now;
                synchronized (this) {
                    now = report.of(all);
                }
                folder.writeKeys(jobId, now);
            }
            lastProblem = "";
        } catch (IOException | RuntimeException e) {
            // The next look may find it mended; the log needs to hear of it once.
            if (!e.toString().equals(lastProblem)) {
                lastProblem = e.toString();
                LOG.warn("The folder of plans {} cannot be used", path, e);
            }
        }
    }

    private void read(Path file) throws IOException {
        if (file == null) {
            return;
        }
        String before;
        synchronized (this) {
            before = judged;
        }
        if (PlanFile.stamp(file).equals(before)) {
            return;
        }
        PlanFile found = PlanFile.read(file, LARGEST_BYTES, "shares", "a file of weights");
        Shares said = found.problem == null ? Shares.parse(found.bytes) : null;
        synchronized (this) {
            judge(found, said);
        }
    }

    private void judge(PlanFile found, Shares said) {
        judged = found.stamp;
        report.file = found.path.toString();
        report.judgedSha256 = found.sha256;
        report.refused =
                said == null ? List.of(found.problem) : said.problemsFor(all, highestEpoch);
        if (!report.refused.isEmpty()) {
            LOG.warn("{} is refused, and the former weights stay: {}", found.path, report.refused);
            return;
        }
        highestEpoch = Math.max(highestEpoch, said.epoch);
        report.usedSha256 = found.sha256;
        report.epoch = said.epoch;
        for (Routers routers : all) {
            Shares.OfTask shares = said.tasks.get(routers.combine);
            if (shares != null) {
                routers.use(shares);
            }
        }
        LOG.info("Weights of {} (epoch {}) are in force", found.path, said.epoch);
    }

    private void forget() {
        try {
            if (folder != null && report.jobId != null) {
                folder.forgetKeys(report.jobId);
            }
        } catch (IOException e) {
            LOG.warn("The report of keys stays in {}", path, e);
        }
    }

    private static Path path() {
        String stated = System.getProperty(PLANS);
        String configuration = System.getenv("FLINK_CONF_DIR");
        if (stated != null) {
            return Paths.get(stated);
        }
        return configuration == null ? null : Paths.get(configuration, "edgeplace");
    }
}
