package testbed.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.Path;

/**
 * Adds a line {@code bytes path} to the file {@code counted-reads} in the log folder of the process
 * when it is closed and something was read from it.
 */
final class CountedStream extends FSDataInputStream {
    private final FSDataInputStream file;
    private final Path path;
    private long bytes;

    CountedStream(FSDataInputStream file, Path path) {
        this.file = file;
        this.path = path;
    }

    @Override
    public int read() throws IOException {
        int read = file.read();
        bytes += read < 0 ? 0 : 1;
        return read;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
        int read = file.read(into, from, length);
        bytes += Math.max(0, read);
        return read;
    }

    @Override
    public void seek(long position) throws IOException {
        file.seek(position);
    }

    @Override
    public long getPos() throws IOException {
        return file.getPos();
    }

    @Override
    public void close() throws IOException {
        file.close();
        if (bytes > 0) {
            Files.writeString(
                    Paths.get(System.getenv("FLINK_LOG_DIR"), "counted-reads"),
                    bytes + " " + path.getPath() + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
            bytes = 0;
        }
    }
}
