package dev.edgeplace.flink;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * The content of a plan file at one moment.
 *
 * <p>The agent opens only regular files and follows no links. A user who may write to the folder of
 * plans cannot make the agent read other files of the JobManager's user.
 */
public final class PlanFile {
    private static final int MOST_TRIES = 3;

    public final Path path;
    /** Differs after the file was replaced or written to. */
    public final String stamp;
    public final byte[] bytes;
    /** The digest of the bytes; null if they were not read. */
    public final String sha256;
    /** Why the file was not read, or null. */
    public final String problem;

    private PlanFile(Path path, String stamp, byte[] bytes, String sha256, String problem) {
        this.path = path;
        this.stamp = stamp;
        this.bytes = bytes;
        this.sha256 = sha256;
        this.problem = problem;
    }

    /**
     * Reads a file. Reads it again if it was replaced meanwhile.
     *
     * @param largestBytes the size of the largest possible plan of the job
     */
    static PlanFile read(Path path, long largestBytes) throws IOException {
        return read(path, largestBytes, "plan", "a plan of this job");
    }

    /**
     * Reads a file of another kind in the same way.
     *
     * @param kind what the file is, as its problems say
     * @param largest what has the largest size, as its problems say
     */
    static PlanFile read(Path path, long largestBytes, String kind, String largest)
            throws IOException {
        String before = "";
        for (int tries = 0; tries < MOST_TRIES; tries++) {
            BasicFileAttributes is = attributes(path);
            before = stamp(path, is);
            String notRegular = kindOfNoPlan(is);
            if (notRegular != null) {
                return unread(
                        path,
                        before,
                        "the " + kind + " file is " + notRegular
                                + ", and is not opened: put a regular file there");
            }
            String tooLarge =
                    " bytes or more, and " + largest + " has " + largestBytes
                            + " at most: replace it";
            if (is.size() > largestBytes) {
                return unread(path, before, "the " + kind + " file has " + is.size() + tooLarge);
            }
            byte[] bytes;
            try (InputStream in =
                    Files.newInputStream(
                            path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
                bytes = in.readNBytes((int) largestBytes + 1);
            } catch (NoSuchFileException e) {
                throw e;
            } catch (IOException e) {
                return unread(
                        path,
                        before,
                        "the " + kind + " file cannot be read (" + Quote.cut(e.toString()) + "): mend that");
            }
            if (bytes.length > largestBytes) {
                return unread(path, before, "the " + kind + " file has " + bytes.length + tooLarge);
            }
            if (stamp(path).equals(before)) {
                return new PlanFile(path, before, bytes, PlansFolder.sha256(bytes), null);
            }
        }
        return unread(path, before, "the " + kind + " is still being written: rename it into place");
    }

    /** Returns path, time, size and identity of a file: equal only if it is the same file. */
    static String stamp(Path path) throws IOException {
        return stamp(path, attributes(path));
    }

    /** Tells whether a file, a folder or a link of this name exists. */
    static boolean isThere(Path path) {
        return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    }

    private static String stamp(Path path, BasicFileAttributes is) {
        return path + "|" + is.lastModifiedTime() + "|" + is.size() + "|" + is.fileKey();
    }

    private static BasicFileAttributes attributes(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private static String kindOfNoPlan(BasicFileAttributes is) {
        if (is.isRegularFile()) {
            return null;
        }
        if (is.isSymbolicLink()) {
            return "a symbolic link";
        }
        return is.isDirectory() ? "a directory" : "a FIFO, a socket or a device";
    }

    private static PlanFile unread(Path path, String stamp, String problem) {
        return new PlanFile(path, stamp, new byte[0], null, problem);
    }
}
