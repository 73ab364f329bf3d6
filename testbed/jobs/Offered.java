package testbed.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Says how many records have been offered to a source subtask by now, as a log that others write
 * would: what a job that stands still does not take waits for it.
 *
 * <p>The file has a line for each change of the rate: its time in ms since the epoch, and the
 * records per second from then on.
 */
final class Offered {
    private static final long LOOK_MS = 100;

    private final Path file;
    private String text = "";
    private double before;
    private double perSecond;
    private long sinceMs;
    private long lookMs;

    Offered(String file) {
        this.file = Path.of(file);
    }

    /** The number of records offered until a time in ms since the epoch. */
    long until(long nowMs) throws IOException {
        if (nowMs >= lookMs) {
            lookMs = nowMs + LOOK_MS;
            look(nowMs);
        }
        return (long) (before + Math.max(0, nowMs - sinceMs) / 1e3 * perSecond);
    }

    private void look(long nowMs) throws IOException {
        String found;
        try {
            found = Files.readString(file);
        } catch (NoSuchFileException none) {
            return;
        }
        if (found.equals(text)) {
            return;
        }
        text = found;
        before = 0;
        perSecond = 0;
        sinceMs = nowMs;
        for (String line : found.strip().split("\n")) {
            String[] words = line.strip().split(" ");
            if (words.length != 2) {
                throw new IllegalArgumentException(
                        file + ": a line is a time in ms and a rate, not \"" + line + "\"");
            }
            long atMs = Long.parseLong(words[0]);
            before += Math.max(0, atMs - sinceMs) / 1e3 * perSecond;
            perSecond = Double.parseDouble(words[1]);
            sinceMs = atMs;
        }
    }
}
