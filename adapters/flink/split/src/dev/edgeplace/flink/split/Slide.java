package dev.edgeplace.flink.split;

import java.io.Serializable;
import java.util.List;

/** What a router did in a slide. */
final class Slide implements Serializable {
    /** A frequent key. */
    static final class Frequent implements Serializable {
        private static final long serialVersionUID = 1L;

        final long hash;
        final long records;
        final int workers;

        Frequent(long hash, long records, int workers) {
            this.hash = hash;
            this.records = records;
            this.workers = workers;
        }
    }

    private static final long serialVersionUID = 1L;

    long records;
    /** Records of each worker, and the weights that were in force at the end. */
    long[] loads;
    double[] weights;
    int frequentKeys;
    long frequentRecords;
    /** Pairs of frequent key and worker. */
    int pieces;
    /** The most frequent keys first. */
    List<Frequent> most;
}
