package testbed.jobs;

import java.io.IOException;
import java.net.URI;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;

/**
 * A plug-in of Flink: the files under {@code counted:/} are local files, and Flink takes them for
 * remote ones. What is read of them is counted, see {@link CountedStream}.
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
}
