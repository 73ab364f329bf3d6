package dev.edgeplace.flink;

/** The private members of Flink's that the agent uses by reflection; see {@link FlinkCheck}. */
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
            "jobmaster/slotpool/DeclarativeSlotPoolService", "getDeclarativeSlotPool");

    private final String owner;
    private final String formerOwner;
    public final String memberName;

    ReflectedMember(String owner, String memberName) {
        this(owner, owner, memberName);
    }

    ReflectedMember(String owner, String formerOwner, String memberName) {
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
