package dev.edgeplace.flink;

import java.util.Map;
import java.util.function.Consumer;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassWriter;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Label;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Type;

/**
 * The places in Flink's byte code where the agent adds calls of its own methods.
 *
 * <p>{@code SlotSharingExecutionSlotAllocatorFactory.createInstance} makes the slot allocator of a
 * job. The agent wraps three objects there: the strategy that says which subtasks share a slot, the
 * factory that is called before slots are allocated, and the provider of slots. {@code
 * FineGrainedSlotManager} serves slot requests. The agent wraps its strategy that chooses
 * TaskManagers, and is called when it starts. {@code ResourceManager.registerTaskExecutorInternal}
 * registers a TaskManager: the agent may refuse it first.
 *
 * <p>Rescaling has its own hooks. If a release of Flink lacks their places, the agent places jobs
 * and does not rescale them. {@code DefaultSchedulerFactory.createInstance} makes a scheduler from a
 * job graph: the agent sees the job graph first. {@code SchedulerUtils} finds the checkpoints of a
 * job: the agent returns those that a former scheduler has left. The agent is called when a {@code
 * JobMaster} makes a scheduler and when it starts.
 */
final class HookPoints {
    private static final String SCHEDULER = "org/apache/flink/runtime/scheduler/";
    private static final String SLOT_POOL = "org/apache/flink/runtime/jobmaster/slotpool/";
    private static final String SLOT_MANAGER =
            "org/apache/flink/runtime/resourcemanager/slotmanager/";

    private static final String FACTORY = SCHEDULER + "SlotSharingExecutionSlotAllocatorFactory";
    private static final String MANAGER = SLOT_MANAGER + "FineGrainedSlotManager";
    private static final String RESOURCE_MANAGERS = "org/apache/flink/runtime/resourcemanager/";
    private static final String RESOURCE_MANAGER = RESOURCE_MANAGERS + "ResourceManager";
    private static final String REGISTRATION = "org/apache/flink/runtime/registration/";
    private static final String STRATEGY = SLOT_MANAGER + "ResourceAllocationStrategy";

    private static final String JOB_MASTERS = "org/apache/flink/runtime/jobmaster/";
    private static final String JOB_MASTER = JOB_MASTERS + "JobMaster";
    private static final String RESCALE_HOOKS = JOB_MASTERS + "RescaleHooks";
    private static final String SCHEDULER_FACTORY = SCHEDULER + "DefaultSchedulerFactory";
    private static final String SCHEDULER_UTILS = SCHEDULER + "SchedulerUtils";
    private static final String JOB_GRAPH = "org/apache/flink/runtime/jobgraph/JobGraph";
    private static final String CHECKPOINTS = "org/apache/flink/runtime/checkpoint/";
    private static final String STATUS_LISTENER =
            "org/apache/flink/runtime/executiongraph/JobStatusListener";

    /** The classes that placement hooks into, each with its number of hooks. */
    static final Map<String, Integer> PLACEMENT = 
            Map.of(FACTORY, 3, MANAGER, 2, RESOURCE_MANAGER, 1);
    /** The same for rescaling. */
    static final Map<String, Integer> RESCALING =
            Map.of(SCHEDULER_FACTORY, 1, SCHEDULER_UTILS, 2, JOB_MASTER, 2);

    private HookPoints() {}

    /**
     * Returns the byte code of a class with the hooks in it.
     *
     * @throws IllegalStateException if this release of Flink does not have exactly the places
     *     expected
     */
    static byte[] hook(String internalName, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        // The hooks do not change types and branches: frames stay valid, only stacks grow.
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        int[] hooks = {0};
        reader.accept(new HookedClass(writer, internalName, hooks), 0);
        int expected =
                PLACEMENT.getOrDefault(internalName, 0) + RESCALING.getOrDefault(internalName, 0);
        if (hooks[0] != expected) {
            throw new IllegalStateException(
                    "expected "
                            + expected
                            + " hook points in "
                            + internalName.replace('/', '.')
                            + ", found "
                            + hooks[0]);
        }
        return writer.toByteArray();
    }

    private static final class HookedClass extends ClassVisitor {
        private final String owner;
        private final int[] hooks;

        HookedClass(ClassVisitor next, String owner, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.owner = owner;
            this.hooks = hooks;
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, thrown);
            switch (owner + "." + name) {
                case FACTORY + ".createInstance":
                    return new HookedAllocatorFactory(next, hooks);
                case MANAGER + ".<init>":
                    return new HookedSlotManager(next, hooks);
                case MANAGER + ".start":
                    // start(ResourceManagerId, Executor of the main thread, ...)
                    return new HookedStart(next, hooks, HookPoints::slotManagerStarts);
                case RESOURCE_MANAGER + ".registerTaskExecutorInternal":
                    // registerTaskExecutorInternal(TaskExecutorGateway, TaskExecutorRegistration)
                    return new HookedStart(next, hooks, HookPoints::taskManagerRegisters);
                case SCHEDULER_FACTORY + ".createInstance":
                    return new HookedSchedulerFactory(next, hooks);
                case SCHEDULER_UTILS + ".createCompletedCheckpointStoreIfCheckpointingIsEnabled":
                    return new HookedStart(
                            next,
                            hooks,
                            method -> returnLeft(method, "checkpoints", "CompletedCheckpointStore"));
                case SCHEDULER_UTILS + ".createCheckpointIDCounterIfCheckpointingIsEnabled":
                    return new HookedStart(
                            next,
                            hooks,
                            method -> returnLeft(method, "counter", "CheckpointIDCounter"));
                case JOB_MASTER + ".createScheduler":
                    // createScheduler(factory, deployments, metrics, listener)
                    Type[] parameters = Type.getArgumentTypes(descriptor);
                    return parameters.length == 4
                                    && parameters[3].getInternalName().equals(STATUS_LISTENER)
                            ? new HookedStart(next, hooks, HookPoints::schedulerIsMade)
                            : next;
                case JOB_MASTER + ".onStart":
                    return new HookedStart(next, hooks, HookPoints::jobMasterStarts);
                default:
                    return next;
            }
        }
    }

    private static void slotManagerStarts(HookedMethod method) {
        String type = "(L" + MANAGER + ";Ljava/util/concurrent/Executor;)V";
        method.load(0);
        method.load(2);
        method.call(SLOT_MANAGER + "SteeringHooks", "started", type);
    }

    private static void schedulerIsMade(HookedMethod method) {
        method.load(0);
        method.load(4);
        method.call(RESCALE_HOOKS, "scheduler", "(L" + JOB_MASTER + ";L" + STATUS_LISTENER + ";)V");
    }

    private static void jobMasterStarts(HookedMethod method) {
        method.load(0);
        method.call(RESCALE_HOOKS, "started", "(L" + JOB_MASTER + ";)V");
    }

    private static void taskManagerRegisters(HookedMethod method) {
        String type = REGISTRATION + "RegistrationResponse";
        method.load(2);
        method.call(
                SLOT_MANAGER + "SteeringHooks",
                "refusal",
                "(L" + RESOURCE_MANAGERS + "TaskExecutorRegistration;)L" + type + ";");
        method.returnUnlessNull(type);
    }

    /** Returns what a former scheduler of the job, the first argument, has left, unless null. */
    private static void returnLeft(HookedMethod method, String hook, String className) {
        String type = CHECKPOINTS + className;
        method.load(0);
        method.call(RESCALE_HOOKS, hook, "(L" + JOB_GRAPH + ";)L" + type + ";");
        method.returnUnlessNull(type);
    }

    /** A method of Flink that gets calls of the agent's methods. It counts them. */
    private abstract static class HookedMethod extends MethodVisitor {
        private final int[] hooks;

        HookedMethod(MethodVisitor next, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
        }

        /** Pushes a variable: in an instance method, 0 is {@code this}, 1 the first parameter. */
        final void load(int variable) {
            super.visitVarInsn(Opcodes.ALOAD, variable);
        }

        /** Calls a static method of the agent. */
        final void call(String owner, String name, String descriptor) {
            hooks[0]++;
            super.visitMethodInsn(Opcodes.INVOKESTATIC, owner, name, descriptor, false);
        }

        /** Returns what is on the stack, at the start of a method, unless it is null. */
        final void returnUnlessNull(String type) {
            Label nothing = new Label();
            super.visitInsn(Opcodes.DUP);
            super.visitJumpInsn(Opcodes.IFNULL, nothing);
            super.visitInsn(Opcodes.ARETURN);
            super.visitLabel(nothing);
            super.visitFrame(Opcodes.F_SAME1, 0, null, 1, new Object[] {type});
            super.visitInsn(Opcodes.POP);
        }
    }

    /** Adds a call at the start of a method. */
    private static final class HookedStart extends HookedMethod {
        private final Consumer<HookedMethod> hook;

        HookedStart(MethodVisitor next, int[] hooks, Consumer<HookedMethod> hook) {
            super(next, hooks);
            this.hook = hook;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            hook.accept(this);
        }
    }

    /** Wraps three objects after they are on the stack. */
    private static final class HookedAllocatorFactory extends HookedMethod {
        private static final String CONTEXT = "L" + SCHEDULER + "ExecutionSlotAllocationContext;";

        HookedAllocatorFactory(MethodVisitor next, int[] hooks) {
            super(next, hooks);
        }

        @Override
        public void visitMethodInsn(
                int opcode, String owner, String name, String descriptor, boolean isInterface) {
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            if (owner.equals(SCHEDULER + "SlotSharingStrategy$Factory") && name.equals("create")) {
                wrap("strategy", SCHEDULER + "SlotSharingStrategy");
            }
            if (owner.equals(SCHEDULER + "MergingSharedSlotProfileRetrieverFactory")
                    && name.equals("<init>")) {
                wrap(
                        "retriever",
                        SCHEDULER + "SharedSlotProfileRetriever$SharedSlotProfileRetrieverFactory");
            }
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            super.visitFieldInsn(opcode, owner, name, descriptor);
            if (opcode == Opcodes.GETFIELD && name.equals("slotProvider")) {
                wrap("provider", SLOT_POOL + "PhysicalSlotProvider");
            }
        }

        private void wrap(String hook, String type) {
            String wrapped = "L" + type + ";";
            load(1);
            call(SCHEDULER + "PlacementHooks", hook, "(" + wrapped + CONTEXT + ")" + wrapped);
        }
    }

    /** Wraps the strategy that chooses TaskManagers before it is stored. */
    private static final class HookedSlotManager extends HookedMethod {
        HookedSlotManager(MethodVisitor next, int[] hooks) {
            super(next, hooks);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            if (opcode == Opcodes.PUTFIELD && name.equals("resourceAllocationStrategy")) {
                String type = "(L" + STRATEGY + ";)L" + STRATEGY + ";";
                call(SLOT_MANAGER + "SteeringHooks", "strategy", type);
            }
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }
    }

    /** Shows the job graph to the agent before Flink reads its parallelism. */
    private static final class HookedSchedulerFactory extends HookedMethod {
        HookedSchedulerFactory(MethodVisitor next, int[] hooks) {
            super(next, hooks);
        }

        @Override
        public void visitMethodInsn(
                int opcode, String owner, String name, String descriptor, boolean isInterface) {
            if (name.equals("computeVertexParallelismStore")
                    && descriptor.startsWith("(L" + JOB_GRAPH + ";)")) {
                super.visitInsn(Opcodes.DUP);
                call(RESCALE_HOOKS, "jobGraph", "(L" + JOB_GRAPH + ";)V");
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }
    }
}
