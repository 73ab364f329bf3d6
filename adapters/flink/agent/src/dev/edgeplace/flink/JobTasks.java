package dev.edgeplace.flink;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** The tasks of a job, as a plan names them. */
public final class JobTasks {
    /** A chain of operators: what Flink calls a job vertex. */
    public static final class Task {
        /** The JobVertexID. */
        public final String id;
        public final String name;
        public final int parallelism;
        /** The number of its key groups: more subtasks would have no key. */
        public final int maxParallelism;
        /** FORWARD joins the tasks with the same number; they have the same parallelism. */
        public final int forwardGroup;

        public Task(String id, String name, int parallelism, int maxParallelism, int forwardGroup) {
            this.id = id;
            this.name = name;
            this.parallelism = parallelism;
            this.maxParallelism = maxParallelism;
            this.forwardGroup = forwardGroup;
        }
    }

    /** The bytes of a line without the task's name: numbers, separators, a location. */
    private static final long BYTES_OF_A_LINE = 400;
    private static final long SMALLEST_LIMIT_BYTES = 1L << 16;
    /** The limit for any job: to read a plan takes about ten times as much memory. */
    private static final long LARGEST_LIMIT_BYTES = 1L << 24;

    /** In topological order. */
    public final List<Task> all;
    /** Why no plan can change the parallelism of a task, or null. */
    public final String fixedBecause;

    public JobTasks(List<Task> all, String fixedBecause) {
        this.all = List.copyOf(all);
        this.fixedBecause = fixedBecause;
    }

    /** Returns how large a plan of this job can be; {@code plan_file.py} says the same. */
    public long largestPlanBytes() {
        long bytes = 0;
        for (Task task : all) {
            int name = task.name.getBytes(StandardCharsets.UTF_8).length;
            bytes += task.parallelism * (BYTES_OF_A_LINE + name);
        }
        return Math.min(LARGEST_LIMIT_BYTES, Math.max(SMALLEST_LIMIT_BYTES, bytes));
    }
}
