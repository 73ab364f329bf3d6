package testbed.jobs;

import java.util.ArrayList;
import java.util.List;

/**
 * No job: its {@code main} runs in the JobManager, and leaves no memory to its other threads for
 * some seconds, or until the JVM has ended. The argument is {@code seconds}.
 */
public final class FillHeap {
    private static final int PIECE_BYTES = 1 << 14;
    private static final long MILLIS_TILL_NEXT_TRY = 2;

    private FillHeap() {}

    public static void main(String[] args) throws InterruptedException {
        long endNanos = System.nanoTime() + new Arguments(args).whole("seconds", 5) * 1_000_000_000L;
        List<byte[]> held = new ArrayList<>();
        while (System.nanoTime() < endNanos) {
            try {
                held.add(new byte[PIECE_BYTES]);
            } catch (OutOfMemoryError full) {
                Thread.sleep(MILLIS_TILL_NEXT_TRY);
            }
        }
    }
}
