package testbed.jobs;

/**
 * No job: its {@code main} runs in the JobManager, fills the heap, however long that takes, and
 * then leaves no memory to the other threads for some seconds, or until the JVM has ended. The
 * argument is {@code seconds}.
 */
public final class FillHeap {
    private static final int SMALLEST = 1;

    private FillHeap() {}

    public static void main(String[] args) {
        fill(new Arguments(args).whole("seconds", 5) * 1_000_000_000L);
        System.out.println("OutOfMemoryError: for all threads of this JVM");
    }

    /** Its own frame holds the pieces, so that the line above finds memory. */
    private static void fill(long fullNanos) {
        long endNanos = Long.MAX_VALUE;
        // Each piece holds the one before. A list would need room to grow, and leave it to others.
        Object[] held = null;
        // No JVM has an array as long as the first: its error comes while there is memory, and links
        // what the handler calls. Linking loads classes, and found no memory in a full heap.
        int size = Integer.MAX_VALUE;
        while (endNanos == Long.MAX_VALUE || System.nanoTime() - endNanos < 0) {
            try {
                Object[] piece = new Object[size];
                piece[0] = held;
                held = piece;
            } catch (OutOfMemoryError full) {
                long now = System.nanoTime();
                if (size == SMALLEST && endNanos == Long.MAX_VALUE) {
                    endNanos = now + fullNanos;
                }
                size = Math.max(SMALLEST, size / 16);
            }
        }
    }
}
