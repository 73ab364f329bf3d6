package testbed.jobs;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;

/**
 * A plug-in of Flink: what the files under {@code remote://HOST:PORT/} hold comes from and goes to
 * the testbed's file server, over the network between the sites. Names, sizes and deletions go
 * straight to the disk, which all hosts of the testbed share. What is read is counted, see {@link
 * CountedStream}.
 */
public final class RemoteFiles implements FileSystemFactory {
    private static final String SCHEME = "remote";

    @Override
    public String getScheme() {
        return SCHEME;
    }

    @Override
    public FileSystem create(URI uri) {
        return new Remote(uri.getHost(), uri.getPort());
    }

    private static final class Remote extends LocalFileSystem {
        private final String host;
        private final int port;

        Remote(String host, int port) {
            this.host = host;
            this.port = port;
        }

        @Override
        public boolean isDistributedFS() {
            return true;
        }

        @Override
        public URI getUri() {
            return URI.create(SCHEME + "://" + host + ":" + port + "/");
        }

        @Override
        public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
            return open(path);
        }

        @Override
        public FSDataInputStream open(Path path) throws IOException {
            super.open(path).close(); // A missing file is a FileNotFoundException.
            return new CountedStream(new RemoteInput(path), path);
        }

        @Override
        public FSDataOutputStream create(Path path, WriteMode mode) throws IOException {
            super.create(path, mode).close(); // Makes the folders, and minds the mode.
            return new RemoteOutput(path);
        }

        /** Return a connection that has asked for this. */
        private Socket ask(String verb, Path path, long position) throws IOException {
            Socket socket = new Socket(host, port);
            String request = verb + " " + position + " " + path.getPath() + "\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            return socket;
        }

        private final class RemoteInput extends FSDataInputStream {
            private final Path path;
            private Socket socket;
            private InputStream bytes;
            private long position;

            RemoteInput(Path path) {
                this.path = path;
            }

            private InputStream bytes() throws IOException {
                if (socket == null) {
                    socket = ask("GET", path, position);
                    bytes = new BufferedInputStream(socket.getInputStream());
                }
                return bytes;
            }

            @Override
            public int read() throws IOException {
                int read = bytes().read();
                position += read < 0 ? 0 : 1;
                return read;
            }

            @Override
            public int read(byte[] into, int from, int length) throws IOException {
                int read = bytes().read(into, from, length);
                position += Math.max(0, read);
                return read;
            }

            @Override
            public void seek(long to) throws IOException {
                if (to != position) {
                    close();
                    position = to;
                }
            }

            @Override
            public long getPos() {
                return position;
            }

            @Override
            public void close() throws IOException {
                if (socket != null) {
                    socket.close();
                    socket = null;
                }
            }
        }

        private final class RemoteOutput extends FSDataOutputStream {
            private final Socket socket;
            private final OutputStream bytes;
            private long position;

            RemoteOutput(Path path) throws IOException {
                socket = ask("PUT", path, 0);
                bytes = new BufferedOutputStream(socket.getOutputStream());
            }

            @Override
            public void write(int value) throws IOException {
                bytes.write(value);
                position++;
            }

            @Override
            public void write(byte[] from, int start, int length) throws IOException {
                bytes.write(from, start, length);
                position += length;
            }

            @Override
            public long getPos() {
                return position;
            }

            @Override
            public void flush() throws IOException {
                bytes.flush();
            }

            @Override
            public void sync() throws IOException {
                flush();
            }

            @Override
            public void close() throws IOException {
                if (socket.isClosed()) {
                    return;
                }
                try (socket) {
                    flush();
                    socket.shutdownOutput();
                    // The server answers once it has all of it.
                    if (socket.getInputStream().read() < 0) {
                        throw new IOException("the file server did not take the file");
                    }
                }
            }
        }
    }
}
