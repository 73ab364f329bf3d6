package dev.edgeplace.flink;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The agent of this JVM: the folder of plans, and the thread that watches it. */
public final class Agent {
    public static final String VERSION = "0.2.0";

    private static final long WATCH_EVERY_MS = 250;
    private static final long HEARTBEAT_EVERY_MS = 5000;
    private static final int MOST_TRIES = 3;

    private static Agent running;

    public final Options options;
    public final PlansFolder plans;
    public final Cordons cordons;
    public final Twins twins = new Twins();
    public final Turns turns = new Turns();
    /** Why this release of Flink cannot rescale jobs; empty if it can. */
    private final List<String> noRescaling;

    private final Map<String, PlannedJob> jobs = new ConcurrentHashMap<>();
    private final Map<String, PlanFile> planOfJob = new ConcurrentHashMap<>();
    private final long startedMs = System.currentTimeMillis();
    private volatile Runnable resourceManagerProbe = () -> {};
    /** Null until it is known which jobs have a status file of a former JobManager. */
    private Set<String> formerJobs;
    private long heartbeatMs;
    private Map<String, Object> lastSaid = Map.of();
    /** Null until a ResourceManager or a JobMaster starts in this JVM. */
    private ScheduledThreadPoolExecutor thread;
    private final Map<String, String> problems = new HashMap<>();

    private Agent(Options options, List<String> noRescaling) {
        this.options = options;
        this.noRescaling = noRescaling;
        this.plans = new PlansFolder(options.plans);
        this.cordons = new Cordons(plans);
    }

    /** Sets up the agent of this JVM. It is idle until a ResourceManager or JobMaster starts. */
    static void install(Options options, List<String> noRescaling) {
        running = new Agent(options, noRescaling);
    }

    /** Returns the agent of this JVM. */
    public static Agent get() {
        return running;
    }

    /** Returns why no job of this Flink can be rescaled, or null. */
    public String noRescalingBecause() {
        return noRescaling.isEmpty()
                ? null
                : "this Flink lacks what rescaling needs (" + noRescaling.get(0) + ")";
    }

    /** Watches a job from now on, in place of the same job under a former scheduler. */
    public void watch(PlannedJob job) {
        jobs.put(job.jobId(), job);
        wake().execute(() -> attempt(job.toString(), () -> job.prepare(planOf(job))));
    }

    /** Tells whether a job has run under a former JobManager or a former JobMaster. */
    public boolean hasRunBefore(String jobId) throws IOException {
        return formerJobs().contains(jobId) || plans.hasStatus(jobId);
    }

    /** Returns the jobs of former JobManagers. Jobs that still run write their status again. */
    private synchronized Set<String> formerJobs() throws IOException {
        if (formerJobs == null) {
            formerJobs = plans.removeStatuses();
        }
        return formerJobs;
    }

    /** Sets the call that updates {@link TaskManagers} from the ResourceManager. */
    public void probeResourceManager(Runnable probe) {
        resourceManagerProbe = probe;
        wake();
    }

    private synchronized ScheduledThreadPoolExecutor wake() {
        if (thread == null) {
            thread = new ScheduledThreadPoolExecutor(1, Agent::daemon);
            thread.execute(() -> attempt("the folder of plans", this::formerJobs));
            thread.execute(() -> attempt("the cordons", cordons::review));
            thread.scheduleWithFixedDelay(
                    this::watchAll, WATCH_EVERY_MS, WATCH_EVERY_MS, TimeUnit.MILLISECONDS);
        }
        return thread;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "edgeplace-agent");
        thread.setDaemon(true);
        return thread;
    }

    /** Returns the plan file of a job with its present content, or null if there is none. */
    public PlanFile planOf(PlannedJob job) throws IOException {
        return planOf(job.jobId(), job.jobName(), job::largestPlanBytes);
    }

    /** Returns the same of a job that has no scheduler yet. */
    public PlanFile planOf(String jobId, String jobName, LongSupplier largestBytes)
            throws IOException {
        for (int tries = 0; tries < MOST_TRIES; tries++) {
            Path path = plans.planPath(jobId, jobName);
            if (path == null) {
                return null;
            }
            try {
                PlanFile known = planOfJob.get(jobId);
                if (known != null && known.stamp.equals(PlanFile.stamp(path))) {
                    return known;
                }
                PlanFile read = PlanFile.read(path, largestBytes.getAsLong());
                planOfJob.put(jobId, read);
                return read;
            } catch (NoSuchFileException e) {
                continue; // The file was removed or replaced meanwhile.
            }
        }
        return null;
    }

    private void watchAll() {
        attempt("the cordons", cordons::review);
        attempt("the ResourceManager", resourceManagerProbe::run);
        attempt("the heartbeat", this::writeHeartbeat);
        for (PlannedJob job : jobs.values()) {
            attempt(job.toString(), () -> watchOnce(job));
        }
    }

    private interface Action {
        void run() throws IOException;
    }

    /** Catches what fails for one job: the other jobs are watched all the same. */
    private void attempt(String what, Action action) {
        try {
            action.run();
            problems.remove(what);
        } catch (IOException | RuntimeException | Error e) {
            // Errors, too: without this thread, subtasks would wait for ever. Each is logged once.
            if (!String.valueOf(e).equals(problems.put(what, String.valueOf(e)))) {
                log().warn("edgeplace: {} could not be looked after", what, e);
            }
        }
    }

    /** Writes the agent's file every few seconds, and at once when its content changes. */
    private void writeHeartbeat() {
        Map<String, Object> description = description();
        long nowMs = System.currentTimeMillis();
        if (nowMs - heartbeatMs >= HEARTBEAT_EVERY_MS || !description.equals(lastSaid)) {
            heartbeatMs = nowMs;
            lastSaid = description;
            attempt("the folder of plans", () -> write(description, nowMs));
        }
    }

    private void write(Map<String, Object> description, long nowMs) throws IOException {
        Map<String, Object> dated = new LinkedHashMap<>(description);
        dated.putAll(turns.longest());
        dated.put("now_ms", nowMs);
        plans.create();
        plans.writeAgent(dated);
    }

    private void watchOnce(PlannedJob job) throws IOException {
        if (job.hasEnded()) {
            // A later scheduler of the same job may be in the map instead.
            if (jobs.remove(job.jobId(), job)) {
                planOfJob.remove(job.jobId());
                if (job.hasEndedForGood()) {
                    plans.forget(job.jobId());
                }
            }
        } else {
            job.review(planOf(job));
        }
    }

    private Map<String, Object> description() {
        TaskManagers seen = TaskManagers.latest();
        List<Map<String, Object>> taskManagers = new ArrayList<>();
        for (TaskManagers.TaskManager each : seen.registered) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("id", each.resourceId);
            one.put("host", each.host);
            one.put("slots", each.slots);
            taskManagers.add(one);
        }
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("edgeplace_agent", 1);
        said.put("version", VERSION);
        said.put("flink", EnvironmentInformation.getVersion());
        said.put("pid", ProcessHandle.current().pid());
        said.put("lost", options.lost.name().toLowerCase(Locale.ROOT));
        said.put("fallback_after_s", options.fallbackAfterMs / 1000);
        said.put("plans", plans.toString());
        said.put("started_ms", startedMs);
        said.put("no_rescaling_because", noRescalingBecause());
        said.put("resource_manager", seen.active);
        said.put("task_managers", taskManagers);
        said.put("cordons", cordons.described());
        said.put("refused", twins.described());
        said.put("settings", PlanSettings.NAMES);
        return said;
    }

    /** This is not a constant, because Flink sets up logging after the agent has started. */
    private static Logger log() {
        return LoggerFactory.getLogger(Agent.class);
    }
}
