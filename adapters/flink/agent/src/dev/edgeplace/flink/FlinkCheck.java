package dev.edgeplace.flink;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;

/**
 * Tells whether the Flink on the class path has everything this agent uses.
 *
 * <p>Flink's scheduler is internal and may change with each release. So this class tries each hook,
 * and looks up each member of Flink that a class of this jar uses, before Flink starts.
 */
public final class FlinkCheck {
    private static final String FLINK = "org/apache/flink/";
    /** The package of the agent's classes that only rescaling needs. */
    private static final String RESCALING = FLINK + "runtime/jobmaster/";

    private static final String NO_RESCALING = "no rescaling: ";

    private FlinkCheck() {}

    /**
     * Prints what is missing, one per line. The exit code is 1 if placement lacks something. If this
     * runs under the agent, the JVM verifies the hooked classes, too.
     */
    public static void main(String[] arguments) throws ClassNotFoundException {
        ClassLoader loader = FlinkCheck.class.getClassLoader();
        List<String> problems = problems(loader);
        problems.forEach(System.out::println);
        if (!problems.isEmpty()) {
            System.exit(1);
        }
        for (String name : HookPoints.PLACEMENT.keySet()) {
            Class.forName(name.replace('/', '.'), true, loader);
        }
        for (String problem : rescalingProblems(loader)) {
            System.out.println(NO_RESCALING + problem);
        }
        for (String name : HookPoints.RESCALING.keySet()) {
            Class.forName(name.replace('/', '.'), true, loader);
        }
    }

    /** Returns what this Flink lacks; empty if the agent will place subtasks. */
    static List<String> problems(ClassLoader loader) {
        List<String> problems = problems(loader, HookPoints.PLACEMENT.keySet(), false);
        if (!problems.isEmpty()) {
            problems.add("it works with Flink 1.18 to 2.3; maybe a later release of it is needed");
        }
        return problems;
    }

    /** Returns what rescaling needs and this Flink lacks; empty if the agent will rescale too. */
    static List<String> rescalingProblems(ClassLoader loader) {
        return problems(loader, HookPoints.RESCALING.keySet(), true);
    }

    private static List<String> problems(
            ClassLoader loader, Set<String> hooked, boolean isForRescaling) {
        List<String> problems = new ArrayList<>();
        for (String name : hooked) {
            try (InputStream in = loader.getResourceAsStream(name + ".class")) {
                if (in == null) {
                    problems.add("Flink's class " + name.replace('/', '.') + " is missing");
                } else {
                    HookPoints.hook(name, in.readAllBytes());
                }
            } catch (IOException | RuntimeException e) {
                problems.add(String.valueOf(e.getMessage()));
            }
        }
        if (problems.isEmpty()) {
            try {
                problems.addAll(missingMembers(loader, isForRescaling));
            } catch (IOException | URISyntaxException e) {
                problems.add("the agent's own jar cannot be read: " + e);
            }
        }
        return problems;
    }

    /**
     * Loads all classes of this jar now. Another version may overwrite the jar later, and if a class
     * could not be loaded then, jobs could not start.
     */
    static void loadOwnClasses(ClassLoader loader)
            throws IOException, URISyntaxException, ClassNotFoundException {
        for (byte[] ours : ownClasses()) {
            String name = new ClassReader(ours).getClassName();
            Class.forName(name.replace('/', '.'), false, loader);
        }
    }

    private static TreeSet<String> missingMembers(ClassLoader loader, boolean isForRescaling)
            throws IOException, URISyntaxException {
        TreeSet<String> missing = new TreeSet<>();
        for (byte[] ours : ownClasses()) {
            ClassReader reader = new ClassReader(ours);
            if (reader.getClassName().startsWith(RESCALING) == isForRescaling) {
                reader.accept(new MemberLookup(loader, missing), ClassReader.SKIP_DEBUG);
            }
        }
        for (ReflectedMember member : ReflectedMember.values()) {
            if (member.isForRescaling == isForRescaling && !member.exists(loader)) {
                missing.add(member + " is missing");
            }
        }
        return missing;
    }

    private static List<byte[]> ownClasses() throws IOException, URISyntaxException {
        URI place = FlinkCheck.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        Path path = Paths.get(place);
        if (Files.isDirectory(path)) {
            return readClasses(path);
        }
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + place), Map.of())) {
            return readClasses(jar.getPath("/"));
        }
    }

    private static List<byte[]> readClasses(Path root) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(root)) {
            files = all.filter(f -> f.toString().endsWith(".class")).collect(Collectors.toList());
        }
        List<byte[]> classes = new ArrayList<>();
        for (Path file : files) {
            classes.add(Files.readAllBytes(file));
        }
        return classes;
    }

    /** Looks up each class, method and field of Flink that a class uses. */
    private static final class MemberLookup extends ClassVisitor {
        private final ClassLoader loader;
        private final TreeSet<String> missing;

        MemberLookup(ClassLoader loader, TreeSet<String> missing) {
            super(Opcodes.ASM9);
            this.loader = loader;
            this.missing = missing;
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] thrown) {
            return new MethodVisitor(Opcodes.ASM9) {
                @Override
                public void visitMethodInsn(
                        int opcode, String owner, String called, String type, boolean itf) {
                    require(owner, called, type);
                }

                @Override
                public void visitFieldInsn(int opcode, String owner, String field, String type) {
                    require(owner, field, type);
                }

                @Override
                public void visitTypeInsn(int opcode, String type) {
                    require(type, null, null);
                }
            };
        }

        private void require(String owner, String member, String descriptor) {
            if (owner.startsWith(FLINK) && !Members.exist(loader, owner, member, descriptor)) {
                String of = owner.replace('/', '.');
                missing.add(
                        (member == null ? "class " + of : of + "." + member + " " + descriptor)
                                + " is missing");
            }
        }
    }
}
