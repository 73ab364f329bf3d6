package dev.edgeplace.flink.split;

import java.util.Arrays;

/** The workers of a key, in their order, and how many of its records each took in this slide. */
final class KeyWorkers {
    private int[] workers = new int[2];
    private int[] records = new int[2];
    private int size;

    int size() {
        return size;
    }

    int worker(int place) {
        return workers[place];
    }

    int records(int place) {
        return records[place];
    }

    int inUse() {
        int n = 0;
        for (int place = 0; place < size; place++) {
            n += records[place] > 0 ? 1 : 0;
        }
        return n;
    }

    /** Returns the place of a worker, which it gets if it has none. */
    int placeOf(int worker) {
        for (int place = 0; place < size; place++) {
            if (workers[place] == worker) {
                return place;
            }
        }
        if (size == workers.length) {
            workers = Arrays.copyOf(workers, 2 * size);
            records = Arrays.copyOf(records, 2 * size);
        }
        workers[size] = worker;
        records[size] = 0;
        return size++;
    }

    void count(int place) {
        records[place]++;
    }

    /** Begins to count anew. */
    void restart() {
        Arrays.fill(records, 0, size, 0);
    }

    void clear() {
        size = 0;
    }
}
