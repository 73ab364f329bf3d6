package dev.edgeplace.flink.split;

import java.util.BitSet;

/**
 * Which rare keys came in this slide or in the one before, and where those that passed full workers
 * are. In bounded memory: keys may share a mark, and a key that passed may be forgotten.
 */
final class RareKeys {
    private static final int MARKS = 1 << 16;
    private static final int PASSED_PER_WORKER = 64;

    private final long[] passed;
    private final int[] workers;
    private final int[] slides;
    private BitSet marks = new BitSet(MARKS);
    private BitSet before = new BitSet(MARKS);
    private int slide = 1;

    RareKeys(int workers) {
        int slots = Integer.highestOneBit(Math.max(4, workers) * 2 - 1) * PASSED_PER_WORKER;
        passed = new long[slots];
        this.workers = new int[slots];
        slides = new int[slots];
    }

    /** Marks a key and returns whether it came before. */
    boolean cameBefore(long hash) {
        int mark = (int) hash & (MARKS - 1);
        boolean came = marks.get(mark) || before.get(mark);
        marks.set(mark);
        return came;
    }

    /** Returns the worker that a key passed to, or -1. */
    int worker(long hash) {
        int slot = (int) hash & (passed.length - 1);
        return passed[slot] == hash && slides[slot] > 0 && slides[slot] >= slide - 1
                ? workers[slot]
                : -1;
    }

    void pass(long hash, int worker) {
        int slot = (int) hash & (passed.length - 1);
        passed[slot] = hash;
        workers[slot] = worker;
        slides[slot] = slide;
    }

    void end() {
        BitSet last = before;
        before = marks;
        marks = last;
        marks.clear();
        slide++;
    }
}
