package testbed.jobs;

/**
 * No job: its {@code main} runs in the JobManager, and leaves no memory to its other threads for
 * some seconds, or until the JVM has ended. The argument is {@code seconds}.
 */
public final class FillHeap {
    private static final int LARGEST = 1 << 17;
    private static final int SMALLEST = 1;

    private FillHeap() {}

    public static void main(String[] args) {
        long endNanos = System.nanoTime() + new Arguments(args).whole("seconds", 5) * 1_000_000_000L;
        // Each piece holds the one before. A list would need room to grow, and leave it to others.
        Object[] held = null;
        int size = LARGEST;
        while (System.nanoTime() < endNanos) {
            try {
                Object[] piece = new Object[size];
                piece[0] = held;
                held = piece;
            } catch (OutOfMemoryError full) {
                size = Math.max(SMALLEST, size / 16);
            }
        }
        held = null;
        if (size == SMALLEST) { // Else it was never full, and the log must not say so.
            System.out.println("OutOfMemoryError: for all threads of this JVM");
        }
    }
}
