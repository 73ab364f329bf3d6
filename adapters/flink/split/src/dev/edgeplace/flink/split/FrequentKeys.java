package dev.edgeplace.flink.split;

import java.util.Arrays;

/**
 * The frequent ones of a stream of keys, with their counts, in bounded memory.
 *
 * <p>Misra and Gries (1982), which keeps the same keys as SpaceSaving (Agarwal et al., PODS 2012).
 * A full table subtracts the median of its counts from all of them, so that half of its room is free
 * again (Anderson et al., IMC 2017). Keys are 64-bit hashes; those of keys that have workers stay.
 */
final class FrequentKeys {
    private static final double FULL = 0.6;

    private final long[] hashes;
    private final int[] counts;
    private final KeyWorkers[] workers;
    private final int most;
    private int size;

    FrequentKeys(int capacity) {
        int slots = Integer.highestOneBit(Math.max(64, capacity) * 2 - 1) * 2;
        hashes = new long[slots];
        counts = new int[slots];
        workers = new KeyWorkers[slots];
        most = (int) (slots * FULL);
    }

    /** Counts a key and returns its slot, which is valid until the next call; -1 for no room. */
    int add(long hash) {
        long of = hash == 0 ? 1 : hash;
        int slot = slotOf(of);
        if (hashes[slot] == 0) {
            if (size >= most) {
                makeRoom();
                if (size >= most) {
                    return -1;
                }
                slot = slotOf(of);
            }
            hashes[slot] = of;
            size++;
        }
        counts[slot]++;
        return slot;
    }

    int count(int slot) {
        return counts[slot];
    }

    long hash(int slot) {
        return hashes[slot];
    }

    /** Returns the workers of a key, or null. */
    KeyWorkers workers(int slot) {
        return workers[slot];
    }

    void give(int slot, KeyWorkers its) {
        workers[slot] = its;
    }

    /** The slots, of which some are empty: their count is 0 and they have no workers. */
    int slots() {
        return hashes.length;
    }

    /** Begins to count anew, and forgets the keys without workers. */
    void restart() {
        Arrays.fill(counts, 0);
        keepThoseWithCountsOrWorkers();
    }

    private int slotOf(long hash) {
        int mask = hashes.length - 1;
        int slot = (int) hash & mask;
        while (hashes[slot] != 0 && hashes[slot] != hash) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void makeRoom() {
        int[] found = new int[size];
        int n = 0;
        for (int slot = 0; slot < hashes.length; slot++) {
            if (hashes[slot] != 0 && workers[slot] == null) {
                found[n++] = counts[slot];
            }
        }
        Arrays.sort(found, 0, n);
        int median = n == 0 ? 0 : found[n / 2];
        for (int slot = 0; slot < counts.length; slot++) {
            counts[slot] = Math.max(0, counts[slot] - (workers[slot] == null ? median : 0));
        }
        keepThoseWithCountsOrWorkers();
    }

    private void keepThoseWithCountsOrWorkers() {
        long[] oldHashes = hashes.clone();
        int[] oldCounts = counts.clone();
        KeyWorkers[] oldWorkers = workers.clone();
        Arrays.fill(hashes, 0);
        Arrays.fill(counts, 0);
        Arrays.fill(workers, null);
        size = 0;
        for (int old = 0; old < oldHashes.length; old++) {
            if (oldHashes[old] != 0 && (oldCounts[old] > 0 || oldWorkers[old] != null)) {
                int slot = slotOf(oldHashes[old]);
                hashes[slot] = oldHashes[old];
                counts[slot] = oldCounts[old];
                workers[slot] = oldWorkers[old];
                size++;
            }
        }
    }
}
