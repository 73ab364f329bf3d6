package dev.edgeplace.flink.split;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Which workers keys keep from one slide to the next.
 *
 * <p>Keys and workers are the nodes of a graph; a key that a worker had records of is an edge. What
 * flows along a cycle can go around it until one of its edges is empty: so keys + workers - 1 edges
 * are enough for any balance (McNaughton 1959). Kept is a spanning forest, of the edges with the
 * most records.
 */
final class Forest {
    private static final class Edge {
        final int key;
        final long hash;
        final int worker;
        final int records;

        Edge(int key, long hash, int worker, int records) {
            this.key = key;
            this.hash = hash;
            this.worker = worker;
            this.records = records;
        }
    }

    private static final Comparator<Edge> MOST_FIRST =
            Comparator.<Edge>comparingInt(edge -> -edge.records)
                    .thenComparing((one, other) -> Long.compareUnsigned(one.hash, other.hash))
                    .thenComparingInt(edge -> edge.worker);

    private final int workers;
    private final List<KeyWorkers> keys = new ArrayList<>();
    private final List<Edge> edges = new ArrayList<>();

    Forest(int workers) {
        this.workers = workers;
    }

    /** Takes note of the records of a key at its workers. A key of one worker keeps it. */
    void add(long hash, KeyWorkers its) {
        if (its.size() == 1) {
            return;
        }
        for (int place = 0; place < its.size(); place++) {
            if (its.records(place) > 0) {
                edges.add(new Edge(keys.size(), hash, its.worker(place), its.records(place)));
            }
        }
        keys.add(its);
    }

    /** Leaves each key the workers that it keeps, those with the most records first. */
    void prune() {
        edges.sort(MOST_FIRST);
        keys.forEach(KeyWorkers::clear);
        int[] parents = new int[workers + keys.size()];
        for (int node = 0; node < parents.length; node++) {
            parents[node] = node;
        }
        for (Edge edge : edges) {
            int one = root(parents, edge.worker);
            int other = root(parents, workers + edge.key);
            if (one != other) {
                parents[one] = other;
                keys.get(edge.key).placeOf(edge.worker);
            }
        }
    }

    private static int root(int[] parents, int node) {
        int at = node;
        while (parents[at] != at) {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        return at;
    }
}
