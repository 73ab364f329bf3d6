package dev.edgeplace.flink;

/** The private members of Flink that the agent uses by reflection; see {@link FlinkCheck}. */
public enum ReflectedMember {
    RESTART_TASKS("scheduler/DefaultScheduler", "restartTasksWithDelay"),
    TASK_MANAGER_TRACKER(
            "resourcemanager/slotmanager/FineGrainedSlotManager", "taskManagerTracker"),
    SLOT_MANAGER_STARTED("resourcemanager/slotmanager/FineGrainedSlotManager", "started"),
    RESTARTABLE(
            "executiongraph/failover/FailureHandlingResult",
            "executiongraph/failover/flip1/FailureHandlingResult", // Until 1.19.
            "restartable"),
    SLOT_POOL("jobmaster/slotpool/PhysicalSlotProviderImpl", "slotPool"),
    DECLARATIVE_SLOT_POOL(
            "jobmaster/slotpool/DeclarativeSlotPoolService", "getDeclarativeSlotPool"),

    // Only rescaling needs the following members.
    CANCEL_TASKS(true, "scheduler/DefaultScheduler", "cancelTasksAsync"),
    FAILURE_HANDLER(true, "scheduler/DefaultScheduler", "executionFailureHandler"),
    RESTART_STRATEGY(
            true,
            "executiongraph/failover/ExecutionFailureHandler",
            "executiongraph/failover/flip1/ExecutionFailureHandler", // Until 1.19.
            "restartBackoffTimeStrategy"),
    CHECKPOINTS(true, "scheduler/SchedulerBase", "completedCheckpointStore"),
    CHECKPOINT_COUNTER(true, "scheduler/SchedulerBase", "checkpointIdCounter"),
    JOB_GRAPH(true, "scheduler/SchedulerBase", "getJobGraph"),
    JOB_MASTERS_SCHEDULER(true, "jobmaster/JobMaster", "schedulerNG"),
    JOB_MASTERS_METRICS(true, "jobmaster/JobMaster", "jobManagerJobMetricGroup"),
    JOB_MASTERS_DEPLOYMENTS(true, "jobmaster/JobMaster", "executionDeploymentTracker"),
    JOB_MASTERS_CONFIGURATION(true, "jobmaster/JobMaster", "jobMasterConfiguration"),
    CREATE_SCHEDULER(true, "jobmaster/JobMaster", "createScheduler"),
    START_SCHEDULING(true, "jobmaster/JobMaster", "startScheduling"),
    FAIL_JOB_MASTER(true, "jobmaster/JobMaster", "handleJobMasterError"),
    CHECKPOINT_INTERVAL(true, "checkpoint/CheckpointCoordinator", "baseInterval"),
    CONFIGURED_INTERVAL(
            true, "jobgraph/tasks/CheckpointCoordinatorConfiguration", "checkpointInterval");

    /** Whether only rescaling needs this member. */
    public final boolean isForRescaling;

    private final String owner;
    private final String formerOwner;
    public final String memberName;

    ReflectedMember(String owner, String memberName) {
        this(false, owner, owner, memberName);
    }

    ReflectedMember(String owner, String formerOwner, String memberName) {
        this(false, owner, formerOwner, memberName);
    }

    ReflectedMember(boolean isForRescaling, String owner, String memberName) {
        this(isForRescaling, owner, owner, memberName);
    }

    ReflectedMember(
            boolean isForRescaling, String owner, String formerOwner, String memberName) {
        this.isForRescaling = isForRescaling;
        this.owner = "org/apache/flink/runtime/" + owner;
        this.formerOwner = "org/apache/flink/runtime/" + formerOwner;
        this.memberName = memberName;
    }

    boolean exists(ClassLoader loader) {
        return Members.declares(loader, owner, memberName)
                || Members.declares(loader, formerOwner, memberName);
    }

    @Override
    public String toString() {
        return owner.replace('/', '.') + "." + memberName;
    }
}
