package dev.edgeplace.flink;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.net.URISyntaxException;
import java.security.ProtectionDomain;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Entry point of {@code -javaagent}: checks this Flink, then hooks into some of its classes. */
public final class PlacementAgent {
    /** EX_CONFIG of sysexits.h. */
    private static final int EXIT_REFUSED = 78;

    private PlacementAgent() {}

    /**
     * Called by the JVM before {@code main}. Ends the JVM if placement would not work in it: else
     * the JobManager would place subtasks anywhere, and no one would know.
     */
    public static void premain(String argument, Instrumentation instrumentation) {
        Options options = null;
        List<String> problems;
        try {
            options = Options.parse(argument, System.getenv("FLINK_CONF_DIR"));
            problems = FlinkCheck.problems(PlacementAgent.class.getClassLoader());
        } catch (Options.InvalidOptionException e) {
            problems = List.of(e.getMessage());
        } catch (LinkageError e) {
            problems = List.of("Flink is not on the class path: " + e);
        }
        if (!problems.isEmpty()) {
            refuse(problems);
        }
        List<String> noRescaling =
                FlinkCheck.rescalingProblems(PlacementAgent.class.getClassLoader());
        // For split aggregates: their coordinators are in this JVM, too.
        System.setProperty("edgeplace.plans", options.plans.toString());
        Agent.install(options, noRescaling);
        instrumentation.addTransformer(new Hooking(noRescaling.isEmpty()));
        try {
            FlinkCheck.loadOwnClasses(PlacementAgent.class.getClassLoader());
        } catch (IOException | URISyntaxException | ClassNotFoundException e) {
            refuse(List.of("the agent's own jar cannot be read: " + e));
        }
    }

    private static void refuse(List<String> problems) {
        System.err.println("edgeplace agent " + Agent.VERSION + " cannot place subtasks here:");
        for (String problem : problems) {
            System.err.println("  " + problem);
        }
        System.err.println("Mend this, or start the JobManager without -javaagent.");
        System.err.flush();
        Runtime.getRuntime().halt(EXIT_REFUSED);
    }

    private static final class Hooking implements ClassFileTransformer {
        private final Set<String> hooked;

        Hooking(boolean isRescaling) {
            hooked = new HashSet<>(HookPoints.PLACEMENT.keySet());
            if (isRescaling) {
                hooked.addAll(HookPoints.RESCALING.keySet());
            }
        }

        @Override
        public byte[] transform(
                ClassLoader loader,
                String name,
                Class<?> redefined,
                ProtectionDomain domain,
                byte[] bytes) {
            try {
                // The jar of a job may contain classes of Flink, too.
                boolean isFlinks = loader == PlacementAgent.class.getClassLoader();
                return isFlinks && hooked.contains(name) ? HookPoints.hook(name, bytes) : null;
            } catch (Throwable e) {
                // The check at the start has passed with the same classes: this is a bug.
                refuse(List.of("hooking into " + name + " failed: " + e));
                return null;
            }
        }
    }
}
