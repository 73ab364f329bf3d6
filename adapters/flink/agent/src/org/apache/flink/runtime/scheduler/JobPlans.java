package org.apache.flink.runtime.scheduler;

import java.io.IOException;
import java.util.List;
import java.util.function.Function;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.clusterframework.types.AllocationID;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;
import org.apache.flink.runtime.jobmaster.CheckpointInterval;
import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import dev.edgeplace.flink.Agent;
import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlannedJob;
import dev.edgeplace.flink.Succession;
import dev.edgeplace.flink.TaskManagers;

/**
 * The plans of one job: the plan that it follows, the plan that it shall follow next, and what is
 * wrong with the newest plan file.
 *
 * <p>All methods run in the JobMaster's main thread.
 */
final class JobPlans {
    private static final Logger LOG = LoggerFactory.getLogger(JobPlans.class);
    /**
     * How long a plan waits for a TaskManager that the ResourceManager does not know. Flink's REST
     * API and the TaskManager's log show one as registered before its slots are known here.
     */
    private static final long REGISTRATION_MS = 3_000;

    private final Agent agent;
    private final PlannedJob job;
    private final ExecutionGraph graph;
    private final Subtasks subtasks;
    private final PlanReader reader;
    private final Succession succession;

    /** The plan that the job follows; null: stock Flink places the job. */
    private JobPlan adopted;
    /** A valid plan that the job does not follow yet, or null. */
    private JobPlan wanted;
    /** The plan file that was judged last, or null. */
    private PlanFile judged;
    /** What is wrong with that file. */
    private List<String> rejections = List.of();
    /** The plan file that waits for TaskManagers to register, or null; and since when. */
    private PlanFile early;
    private long earlySinceMs;
    /** The highest epoch of all plans so far. */
    private long epoch;
    private boolean isRescaled;
    /** The plan before the adopted one, or null. */
    private JobPlan former;
    /** Whether the job was never placed by a plan before it was submitted, and has not run since. */
    private boolean isNew;

    JobPlans(
            Agent agent,
            PlannedJob job,
            ExecutionGraph graph,
            Subtasks subtasks,
            PlanReader reader,
            Succession succession) {
        this.agent = agent;
        this.job = job;
        this.graph = graph;
        this.subtasks = subtasks;
        this.reader = reader;
        this.succession = succession;
    }

    /** Continues with what the former scheduler of the job has left. */
    void takeOver(Handover handover) {
        judged = handover.judged;
        rejections = handover.rejections;
        epoch = handover.epoch;
        isRescaled = true;
    }

    JobPlan adopted() {
        return adopted;
    }

    JobPlan wanted() {
        return wanted;
    }

    PlanFile judged() {
        return judged;
    }

    List<String> rejections() {
        return rejections;
    }

    long epoch() {
        return epoch;
    }

    /** Judges a plan file if it is new, has changed or was removed; returns whether it did. */
    boolean judge(PlanReader.Read plan) {
        boolean isRunning = graph.getState() == JobStatus.RUNNING;
        if (isJudged(plan == null ? null : plan.file) || isRunning && isEarly(plan)) {
            return false;
        }
        judged = plan == null ? null : plan.file;
        wanted = null;
        rejections = List.of();
        if (plan != null) { // Without a plan file, the job keeps the plan that it follows.
            decide(plan, isRunning);
        }
        return true;
    }

    /** Rejects the plan file that was judged last. */
    void reject(List<String> problems) {
        wanted = null;
        rejections = problems;
        LOG.error(
                "edgeplace: the plan {} is rejected as a whole, {} stays as it is placed:\n\t{}",
                judged.path,
                job,
                String.join("\n\t", problems));
    }

    /** Rejects the plan file that was judged last: the agent could not use it. */
    void fail(Exception cause) {
        rejections = List.of("the plan cannot be used: " + cause);
    }

    /** Judges a plan again just before the job moves: another job may have taken its slots. */
    boolean isStillGood(JobPlan plan) {
        List<String> problems = problems(plan, true);
        if (!problems.isEmpty() && plan == wanted) {
            reject(problems);
        }
        return problems.isEmpty();
    }

    /** Chooses the plan for a job that starts as a whole: the newest that fits, or the last one. */
    void chooseAtStart() throws IOException {
        PlanFile newest = agent.planOf(job);
        PlanFile last =
                adopted == null ? agent.plans.applied(job.jobId(), job.largestPlanBytes()) : null;
        boolean hasRun = adopted != null || isRescaled || subtasks.isAnyRestarted();
        isNew = isNew || !hasRun && last == null;
        if (newest != null && !isJudged(newest)) {
            judged = newest;
            // The agent's thread has read the file, unless it has just changed. A job that has run
            // has its former places: it does not wait for the TaskManagers of a new plan.
            decide(reader.read(newest), hasRun);
        }
        if (wanted != null && subtasks.areThoseOf(wanted)) {
            adopt(wanted);
        } else if (last != null) {
            // The JobManager was restarted, and the plan file is gone, or not valid any more, or
            // has another parallelism: the job is rescaled once it runs.
            PlanReader.Read read = reader.read(last);
            if (problems(read, false).isEmpty() && subtasks.areThoseOf(read.plan)) {
                JobPlan next = wanted;
                adopt(read.plan);
                wanted = next;
            }
        }
    }

    /** Tells whether the job has never run at the places of its plan. */
    boolean isNew() {
        return isNew;
    }

    /** Called while all subtasks run. */
    void hasRun() {
        isNew = false;
    }

    /** Lets subtasks that had a slot at their planned location share that slot again. */
    void keep(Function<ExecutionVertexID, AllocationID> formerSlots) {
        adopted = adopted.keeping(formerSlots);
    }

    /** Makes a plan the one that the job follows. */
    void adopt(JobPlan plan) {
        if (adopted != null && !adopted.locations.equals(plan.locations)) {
            former = adopted;
            succession.forget();
        }
        adopted = plan;
        wanted = null;
        LOG.info("edgeplace: {} is placed by {}", job, plan.file.path);
    }

    /** Sets the checkpoint interval of the adopted plan, and keeps it for the next JobManager. */
    void settle() {
        if (adopted.settings.checkpointIntervalMs() > 0
                && subtasks.areCheckpointed()
                && agent.noRescalingBecause() == null) {
            CheckpointInterval.set(graph, adopted.settings.checkpointIntervalMs());
        }
        try {
            agent.plans.writeApplied(job.jobId(), adopted.file.bytes);
        } catch (IOException e) {
            // The job is placed all the same: only the next JobManager needs the copy.
            LOG.warn(
                    "edgeplace: {} is not kept for {}: after a restart of the JobManager the job is"
                            + " placed by its plan file only, if that is there and good then",
                    adopted.file.path,
                    job,
                    e);
        }
    }

    private boolean isJudged(PlanFile plan) {
        return plan == null
                ? judged == null
                : judged != null && judged.stamp.equals(plan.stamp);
    }

    /** Tells whether a plan has just come, and a TaskManager of it may be about to register. */
    private boolean isEarly(PlanReader.Read read) {
        TaskManagers seen = TaskManagers.latest();
        if (read == null
                || read.plan == null
                || !seen.active
                || read.plan.locations.values().stream().noneMatch(seen::isMissing)) {
            return false;
        }
        long nowMs = System.currentTimeMillis();
        if (early == null || !early.stamp.equals(read.file.stamp)) {
            early = read.file;
            earlySinceMs = nowMs;
        }
        return nowMs - earlySinceMs < REGISTRATION_MS;
    }

    private void decide(PlanReader.Read plan, boolean isRunning) {
        List<String> problems = problems(plan, isRunning);
        if (problems.isEmpty()) {
            rejections = List.of();
            wanted = plan.plan;
        } else {
            reject(problems);
        }
    }

    private List<String> problems(PlanReader.Read read, boolean isRunning) {
        return read.plan == null ? read.problems : problems(read.plan, isRunning);
    }

    private List<String> problems(JobPlan plan, boolean isRunning) {
        long planned = plan.settings.epoch();
        if (planned > 0 && planned < epoch) {
            return List.of(
                    "the plan's epoch is " + planned + ", and a plan of epoch " + epoch
                            + " was here before: another controller has taken over, end this one");
        }
        epoch = Math.max(epoch, planned);
        // The way back is open, for example to a job that fails after it has left a TaskManager.
        boolean leadsBack = former != null && plan.locations.equals(former.locations);
        return PlanJudge.problems(
                plan,
                graph.getJobID(),
                TaskManagers.latest(),
                leadsBack ? null : agent.cordons,
                succession,
                isRunning);
    }
}
