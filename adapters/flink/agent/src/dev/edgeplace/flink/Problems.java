package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.List;

/** What is wrong with a plan. Who finds a problem stops once {@link #isFull} says so. */
public final class Problems {
    private static final int MOST_LISTED = 20;

    private final List<String> found = new ArrayList<>();
    private boolean isFull;

    /** Notes what is wrong, where, and the cure. */
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

    /** Whether another problem would not be listed. */
    public boolean isFull() {
        return isFull;
    }

    /** Returns what is listed, in the order in which it was found. */
    public List<String> listed() {
        List<String> listed = new ArrayList<>(found);
        if (isFull) {
            listed.add("and more: the first " + MOST_LISTED + " problems are listed");
        }
        return listed;
    }
}
