package dev.edgeplace.flink;

import java.util.Map;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassWriter;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Label;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;

/**
 * The places in Flink's byte code where calls of ours are put in.
 *
 * <p>In {@code SlotSharingExecutionSlotAllocatorFactory.createInstance}, which makes the slot
 * allocator of a job, three objects are wrapped: which subtasks share a slot, what is called before
 * slots are allocated, and who provides slots. In {@code FineGrainedSlotManager}, which serves slot
 * requests, the strategy that chooses TaskManagers is wrapped, and its start is noticed.
 *
 * <p>Rescaling has hooks of its own; a Flink without their places is one in which jobs are placed
 * and not rescaled. In {@code DefaultSchedulerFactory.createInstance} every job graph passes before
 * a scheduler is made of it; in {@code SchedulerUtils} the checkpoints of a job are found, and a
 * former scheduler may have left them; the start of a {@code JobMaster} is noticed.
 */
final class HookPoints {
    private static final String SCHEDULER = "org/apache/flink/runtime/scheduler/";
    private static final String SLOT_POOL = "org/apache/flink/runtime/jobmaster/slotpool/";
    private static final String SLOT_MANAGER =
            "org/apache/flink/runtime/resourcemanager/slotmanager/";

    private static final String FACTORY = SCHEDULER + "SlotSharingExecutionSlotAllocatorFactory";
    private static final String MANAGER = SLOT_MANAGER + "FineGrainedSlotManager";
    private static final String STRATEGY = SLOT_MANAGER + "ResourceAllocationStrategy";

    private static final String JOB_MASTERS = "org/apache/flink/runtime/jobmaster/";
    private static final String JOB_MASTER = JOB_MASTERS + "JobMaster";
    private static final String RESCALE_HOOKS = JOB_MASTERS + "RescaleHooks";
    private static final String SCHEDULER_FACTORY = SCHEDULER + "DefaultSchedulerFactory";
    private static final String SCHEDULER_UTILS = SCHEDULER + "SchedulerUtils";
    private static final String JOB_GRAPH = "org/apache/flink/runtime/jobgraph/JobGraph";
    private static final String CHECKPOINTS = "org/apache/flink/runtime/checkpoint/";

    /** Class to hook into for placement, and how many hooks it must get. */
    static final Map<String, Integer> PLACEMENT = Map.of(FACTORY, 3, MANAGER, 2);
    /** The same for rescaling. */
    static final Map<String, Integer> RESCALING =
            Map.of(SCHEDULER_FACTORY, 1, SCHEDULER_UTILS, 2, JOB_MASTER, 1);

    private HookPoints() {}

    /**
     * Returns the byte code of a class with the hooks in it.
     *
     * @throws IllegalStateException if this release of Flink does not have exactly the places
     *     expected
     */
    static byte[] hook(String internalName, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        // The hooks leave types and branches as they are: frames stay valid, only stacks grow.
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
            if (owner.equals(FACTORY) && name.equals("createInstance")) {
                return new HookedCreateInstance(next, hooks);
            }
            if (owner.equals(MANAGER) && name.equals("<init>")) {
                return new HookedConstructor(next, hooks);
            }
            if (owner.equals(MANAGER) && name.equals("start")) {
                return new HookedStart(next, hooks);
            }
            if (owner.equals(SCHEDULER_FACTORY) && name.equals("createInstance")) {
                return new HookedSchedulerFactory(next, hooks);
            }
            if (owner.equals(SCHEDULER_UTILS)
                    && name.equals("createCompletedCheckpointStoreIfCheckpointingIsEnabled")) {
                String type = CHECKPOINTS + "CompletedCheckpointStore";
                return new HookedCheckpoints(next, hooks, "checkpoints", type);
            }
            if (owner.equals(SCHEDULER_UTILS)
                    && name.equals("createCheckpointIDCounterIfCheckpointingIsEnabled")) {
                String type = CHECKPOINTS + "CheckpointIDCounter";
                return new HookedCheckpoints(next, hooks, "counter", type);
            }
            if (owner.equals(JOB_MASTER) && name.equals("onStart")) {
                return new HookedOnStart(next, hooks);
            }
            return next;
        }
    }

    /** In an instance method, 0 is {@code this} and 1 the first parameter. */
    private static final class HookedCreateInstance extends MethodVisitor {
        private static final String CONTEXT = "L" + SCHEDULER + "ExecutionSlotAllocationContext;";
        private final int[] hooks;

        HookedCreateInstance(MethodVisitor next, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
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
            hooks[0]++;
            super.visitVarInsn(Opcodes.ALOAD, 1);
            String wrapped = "L" + type + ";";
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC,
                    SCHEDULER + "PlacementHooks",
                    hook,
                    "(" + wrapped + CONTEXT + ")" + wrapped,
                    false);
        }
    }

    private static final class HookedConstructor extends MethodVisitor {
        private final int[] hooks;

        HookedConstructor(MethodVisitor next, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            if (opcode == Opcodes.PUTFIELD && name.equals("resourceAllocationStrategy")) {
                hooks[0]++;
                super.visitMethodInsn(
                        Opcodes.INVOKESTATIC,
                        SLOT_MANAGER + "SteeringHooks",
                        "strategy",
                        "(L" + STRATEGY + ";)L" + STRATEGY + ";",
                        false);
            }
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }
    }

    private static final class HookedStart extends MethodVisitor {
        private final int[] hooks;

        HookedStart(MethodVisitor next, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            hooks[0]++;
            super.visitVarInsn(Opcodes.ALOAD, 0);
            // start(ResourceManagerId, Executor of the main thread, ...)
            super.visitVarInsn(Opcodes.ALOAD, 2);
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC,
                    SLOT_MANAGER + "SteeringHooks",
                    "started",
                    "(L" + MANAGER + ";Ljava/util/concurrent/Executor;)V",
                    false);
        }
    }

    /** Shows the job graph before its parallelism is read. */
    private static final class HookedSchedulerFactory extends MethodVisitor {
        private final int[] hooks;

        HookedSchedulerFactory(MethodVisitor next, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
        }

        @Override
        public void visitMethodInsn(
                int opcode, String owner, String name, String descriptor, boolean isInterface) {
            if (name.equals("computeVertexParallelismStore")
                    && descriptor.startsWith("(L" + JOB_GRAPH + ";)")) {
                hooks[0]++;
                super.visitInsn(Opcodes.DUP);
                super.visitMethodInsn(
                        Opcodes.INVOKESTATIC,
                        RESCALE_HOOKS,
                        "jobGraph",
                        "(L" + JOB_GRAPH + ";)V",
                        false);
            }
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }
    }

    /** Returns at once what a former scheduler of the job, the first argument, has left. */
    private static final class HookedCheckpoints extends MethodVisitor {
        private final int[] hooks;
        private final String hook;
        private final String type;

        HookedCheckpoints(MethodVisitor next, int[] hooks, String hook, String type) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
            this.hook = hook;
            this.type = type;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            hooks[0]++;
            Label none = new Label();
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC,
                    RESCALE_HOOKS,
                    hook,
                    "(L" + JOB_GRAPH + ";)L" + type + ";",
                    false);
            super.visitInsn(Opcodes.DUP);
            super.visitJumpInsn(Opcodes.IFNULL, none);
            super.visitInsn(Opcodes.ARETURN);
            super.visitLabel(none);
            super.visitFrame(Opcodes.F_SAME1, 0, null, 1, new Object[] {type});
            super.visitInsn(Opcodes.POP);
        }
    }

    private static final class HookedOnStart extends MethodVisitor {
        private final int[] hooks;

        HookedOnStart(MethodVisitor next, int[] hooks) {
            super(Opcodes.ASM9, next);
            this.hooks = hooks;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            hooks[0]++;
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC, RESCALE_HOOKS, "started", "(L" + JOB_MASTER + ";)V", false);
        }
    }
}
