package dev.edgeplace.flink;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The folder of plans and statuses; {@code docs/flink-agent.md} describes its files. */
public final class PlansFolder {
    private static final String PLAN = ".schedulercfg";
    private static final String HOLDERS = ".holders";
    private static final long MOST_BYTES_OF_HOLDERS = 1_000_000;
    private static final String STATUS = ".status.json";
    private static final String SHARES = ".shares";
    private static final String KEYS = ".keys.json";
    private static final Pattern UNTIL = Pattern.compile("(.+)\\.until-([0-9]{1,12})");
    private static final int LONGEST_KEY = 150;
    private static final int KEPT_OF_LONG_KEY = 100;
    private static final int HASH_DIGITS = 16;

    private final Path folder;

    PlansFolder(Path folder) {
        this.folder = folder;
    }

    /** Creates the folder if it does not exist. */
    void create() throws IOException {
        Files.createDirectories(folder);
    }

    /** Returns the encoded name of a job, as file names have it. */
    static String key(String jobName) {
        StringBuilder key = new StringBuilder();
        for (byte b : jobName.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            boolean plain =
                    c < 128 && (Character.isLetterOrDigit(c) || c == '_' || c == '-')
                            || c == '.' && key.length() > 0;
            key.append(plain ? String.valueOf(c) : String.format("%%%02X", (int) c));
        }
        if (key.length() <= LONGEST_KEY) {
            return key.toString();
        }
        String hash = sha256(jobName.getBytes(StandardCharsets.UTF_8));
        return key.substring(0, KEPT_OF_LONG_KEY) + "~" + hash.substring(0, HASH_DIGITS);
    }

    /** Returns the path of the plan that counts for a job now, or null. It may be any file. */
    Path planPath(String jobId, String jobName) throws IOException {
        String byName = key(jobName);
        Path until = null;
        long expiry = System.currentTimeMillis() / 1000;
        boolean untilIsById = false;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*.until-*" + PLAN)) {
            for (Path file : files) {
                Matcher named = UNTIL.matcher(withoutSuffix(file));
                if (!named.matches()) {
                    continue;
                }
                boolean isById = named.group(1).equals(jobId);
                long holdsUntil = Long.parseLong(named.group(2));
                boolean counts = isById || named.group(1).equals(byName);
                boolean isLast = isById == untilIsById ? holdsUntil > expiry : isById;
                if (counts && holdsUntil > System.currentTimeMillis() / 1000 && isLast) {
                    until = file;
                    expiry = holdsUntil;
                    untilIsById = isById;
                }
            }
        }
        if (until != null) {
            return until;
        }
        for (String each : new String[] {jobId, byName}) {
            Path file = folder.resolve(each + PLAN);
            if (PlanFile.isThere(file)) {
                return file;
            }
        }
        return null;
    }

    /** Returns the path of the weights that count for a job, or null. It may be any file. */
    Path sharesPath(String jobId, String jobName) {
        for (String each : new String[] {jobId, key(jobName)}) {
            Path file = folder.resolve(each + SHARES);
            if (PlanFile.isThere(file)) {
                return file;
            }
        }
        return null;
    }

    /** Writes what the routers of a job report. */
    void writeKeys(String jobId, Map<String, Object> report) throws IOException {
        write(jobId + KEYS, json(report));
    }

    void forgetKeys(String jobId) throws IOException {
        Files.deleteIfExists(folder.resolve(jobId + KEYS));
    }

    /** Returns the cordons, of whatever kind. */
    List<Path> cordonPaths() throws IOException {
        List<Path> paths = new ArrayList<>();
        if (Files.isDirectory(folder)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "[!.]*.cordon")) {
                files.forEach(paths::add);
            }
        }
        return paths;
    }

    /** Returns a copy of the last plan that a job has followed, or null. */
    public PlanFile applied(String jobId, long largestBytes) throws IOException {
        Path file = folder.resolve(jobId + ".applied");
        return PlanFile.isThere(file) ? PlanFile.read(file, largestBytes) : null;
    }

    public void writeApplied(String jobId, byte[] plan) throws IOException {
        write(jobId + ".applied", plan);
    }

    /** Returns what {@link Succession} remembers of a job; empty if nothing is kept. */
    String holders(String jobId) throws IOException {
        Path file = folder.resolve(jobId + HOLDERS);
        return PlanFile.isThere(file)
                ? new String(
                        PlanFile.read(file, MOST_BYTES_OF_HOLDERS).bytes, StandardCharsets.UTF_8)
                : "";
    }

    void writeHolders(String jobId, String holders) throws IOException {
        write(jobId + HOLDERS, holders.getBytes(StandardCharsets.UTF_8));
    }

    public void writeStatus(String jobId, Map<String, Object> status) throws IOException {
        write(jobId + STATUS, json(status));
    }

    void writeAgent(Map<String, Object> agent) throws IOException {
        write("agent.json", json(agent));
    }

    /** Removes the files of a job that has ended. */
    void forget(String jobId) throws IOException {
        Files.deleteIfExists(folder.resolve(jobId + STATUS));
        Files.deleteIfExists(folder.resolve(jobId + ".applied"));
        Files.deleteIfExists(folder.resolve(jobId + HOLDERS));
    }

    boolean hasStatus(String jobId) {
        return Files.exists(folder.resolve(jobId + STATUS));
    }

    /** Removes all status files, and returns the ids of their jobs. */
    Set<String> removeStatuses() throws IOException {
        create();
        Set<String> jobIds = new HashSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + STATUS)) {
            for (Path file : files) {
                Files.deleteIfExists(file);
                String name = file.getFileName().toString();
                jobIds.add(name.substring(0, name.length() - STATUS.length()));
            }
        }
        return jobIds;
    }

    static String sha256(byte[] bytes) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(bytes)) {
                hex.append(String.format("%02x", b & 0xff));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // Every Java has it.
        }
    }

    @Override
    public String toString() {
        return folder.toString();
    }

    private static byte[] json(Map<String, Object> value) {
        return (Json.of(value) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    private void write(String name, byte[] content) throws IOException {
        Path draft = Files.createTempFile(folder, ".", ".part");
        try {
            Files.write(draft, content);
            draft.toFile().setReadable(true, false);
            try {
                Files.move(draft, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) {
                Files.move(draft, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
            }
        } finally {
            Files.deleteIfExists(draft);
        }
    }

    private static String withoutSuffix(Path file) {
        String name = file.getFileName().toString();
        return name.substring(0, name.length() - PLAN.length());
    }
}
