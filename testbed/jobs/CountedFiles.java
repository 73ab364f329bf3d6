package testbed.jobs;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;

/**
 * A plug-in of Flink: the files under {@code counted:/} are local files, and Flink takes them for
 * remote ones. Each process adds a line {@code bytes path} to the file {@code counted-reads} in its
 * log folder for each of these files that it has read.
 */
public final class CountedFiles implements FileSystemFactory {
    private static final String SCHEME = "counted";

    @Override
    public String getScheme() {
        return SCHEME;
    }

    @Override
    public FileSystem create(URI uri) {
        return new Counted();
    }

    private static final class Counted extends LocalFileSystem {
        @Override
        public boolean isDistributedFS() {
            return true;
        }

        @Override
        public URI getUri() {
            return URI.create(SCHEME + ":///");
        }

        @Override
        public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
            return open(path);
        }

        @Override
        public FSDataInputStream open(Path path) throws IOException {
            return new CountedStream(super.open(path), path);
        }
    }

    private static final class CountedStream extends FSDataInputStream {
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
}
