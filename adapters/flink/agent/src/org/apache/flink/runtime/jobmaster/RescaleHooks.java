package org.apache.flink.runtime.jobmaster;

import java.io.IOException;
import java.util.Map;

import org.apache.flink.runtime.checkpoint.CheckpointIDCounter;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStore;
import org.apache.flink.runtime.executiongraph.JobStatusListener;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobType;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.scheduler.PlacementHooks;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The hooks of rescaling call these methods; see {@link SchedulerReplacement}. */
public final class RescaleHooks {
    private static final Logger LOG = LoggerFactory.getLogger(RescaleHooks.class);

    private RescaleHooks() {}

    /** Called before a JobMaster makes a scheduler, with who is to hear of the job's states. */
    public static void scheduler(JobMaster master, JobStatusListener listener) {
        SchedulerReplacement.heardBy(master, listener);
    }

    /** Called when a JobMaster starts, in its main thread. */
    public static void started(JobMaster master) {
        SchedulerReplacement.register(master);
    }

    /** Called before a default scheduler is made from a job graph. Sets its parallelism. */
    public static void jobGraph(JobGraph graph) {
        if (graph.getJobType() != JobType.STREAMING) {
            return;
        }
        Map<JobVertexID, Integer> wanted = SchedulerReplacement.parallelism(graph.getJobID());
        if (wanted == null) {
            try {
                wanted = PlacementHooks.parallelismAtStart(graph);
            } catch (IOException | RuntimeException e) {
                // A wrong plan does not keep the job from starting.
                LOG.error("edgeplace: {} starts in its own parallelism", graph, e);
                return;
            }
        }
        for (JobVertex vertex : graph.getVertices()) {
            Integer n = wanted.get(vertex.getID());
            if (n != null && n != vertex.getParallelism()) {
                LOG.info(
                        "edgeplace: {} has parallelism {}, not {}, by its plan",
                        vertex.getName(),
                        n,
                        vertex.getParallelism());
                vertex.setParallelism(n);
            }
        }
    }

    /** Returns the checkpoints that a former scheduler of a job has left, or null. */
    public static CompletedCheckpointStore checkpoints(JobGraph graph) {
        return SchedulerReplacement.checkpoints(graph.getJobID());
    }

    /** Returns the counter of these checkpoints, or null. */
    public static CheckpointIDCounter counter(JobGraph graph) {
        return SchedulerReplacement.counter(graph.getJobID());
    }
}
