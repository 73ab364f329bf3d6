package org.apache.flink.runtime.scheduler;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import org.apache.flink.runtime.scheduler.strategy.ExecutionVertexID;

import dev.edgeplace.flink.PlanFile;
import dev.edgeplace.flink.PlanMatch;

/**
 * Matches the plan files of one job with its tasks, in any thread. The tasks of a job do not change
 * under one scheduler.
 *
 * <p>It keeps the last result, so a file that has not changed is matched once.
 */
final class PlanReader {
    /** The content of a plan file. */
    static final class Read {
        final PlanFile file;
        /** Null if there are problems. */
        final JobPlan plan;
        /** What is wrong, where, and the cure. */
        final List<String> problems;

        private Read(PlanFile file, JobPlan plan, List<String> problems) {
            this.file = file;
            this.plan = plan;
            this.problems = problems;
        }
    }

    private final Supplier<JobShape> shapes;
    /** Null until the first plan is read: most jobs have no plan. */
    private JobShape shape;
    private Read last;

    PlanReader(Supplier<JobShape> shapes) {
        this.shapes = shapes;
    }

    synchronized long largestPlanBytes() {
        return shape().tasks.largestPlanBytes();
    }

    /** Reads a file. {@link PlanJudge} checks the TaskManagers that it names. */
    synchronized Read read(PlanFile file) {
        if (last == null || !last.file.stamp.equals(file.stamp)) {
            last = readAnew(file);
        }
        return last;
    }

    private JobShape shape() {
        if (shape == null) {
            shape = shapes.get();
        }
        return shape;
    }

    private Read readAnew(PlanFile file) {
        if (shape().isCoLocated) {
            return new Read(
                    file,
                    null,
                    List.of("the job has co-location constraints (an iteration): it cannot be placed"));
        }
        PlanMatch match = PlanMatch.of(file, shape().tasks);
        if (!match.problems().isEmpty()) {
            return new Read(file, null, match.problems());
        }
        Map<ExecutionVertexID, String> locations = new LinkedHashMap<>();
        for (int v = 0; v < shape().vertices.size(); v++) {
            String[] places = match.locations.get(v);
            for (int i = 0; i < places.length; i++) {
                locations.put(new ExecutionVertexID(shape().vertices.get(v), i), places[i]);
            }
        }
        return new Read(file, new JobPlan(match, locations, shape().sharing), List.of());
    }
}
