package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.List;

/** The problems of a plan. A check stops when {@link #isFull} is true. */
public final class Problems {
    private static final int MOST_LISTED = 20;

    private final List<String> found = new ArrayList<>();
    private boolean isFull;

    /** Adds a problem: what is wrong, where, and the cure. */
    public void add(String problem) {
        if (found.size() < MOST_LISTED) {
            found.add(problem);
        } else {
            isFull = true;
        }
    }

    public boolean isEmpty() {
        return found.isEmpty();
    }

    /** Tells whether another problem would not be listed. */
    public boolean isFull() {
        return isFull;
    }

    /** Returns the problems in the order in which they were found. */
    public List<String> listed() {
        List<String> listed = new ArrayList<>(found);
        if (isFull) {
            listed.add("and more: the first " + MOST_LISTED + " problems are listed");
        }
        return listed;
    }
}
