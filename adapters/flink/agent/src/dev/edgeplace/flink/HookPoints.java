package dev.edgeplace.flink;

import java.util.Map;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassWriter;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;

/**
 * The places in Flink's byte code where calls of ours are put in.
 *
 * <p>In {@code SlotSharingExecutionSlotAllocatorFactory.createInstance}, which makes the slot
 * allocator of a job, three objects are wrapped: which subtasks share a slot, what is called before
 * slots are allocated, and who provides slots. In {@code FineGrainedSlotManager}, which serves slot
 * requests, the strategy that chooses TaskManagers is wrapped, and its start is noticed.
 */
final class HookPoints {
    private static final String SCHEDULER = "org/apache/flink/runtime/scheduler/";
    private static final String SLOT_POOL = "org/apache/flink/runtime/jobmaster/slotpool/";
    private static final String SLOT_MANAGER =
            "org/apache/flink/runtime/resourcemanager/slotmanager/";

    private static final String FACTORY = SCHEDULER + "SlotSharingExecutionSlotAllocatorFactory";
    private static final String MANAGER = SLOT_MANAGER + "FineGrainedSlotManager";
    private static final String STRATEGY = SLOT_MANAGER + "ResourceAllocationStrategy";

    /** Class to hook into, and how many hooks it must get. */
    static final Map<String, Integer> EXPECTED = Map.of(FACTORY, 3, MANAGER, 2);

    private HookPoints() {}

    static boolean isHooked(String internalName) {
        // A class can be defined without a name.
        return internalName != null && EXPECTED.containsKey(internalName);
    }

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
        if (hooks[0] != EXPECTED.get(internalName)) {
            throw new IllegalStateException(
                    "expected "
                            + EXPECTED.get(internalName)
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
}
