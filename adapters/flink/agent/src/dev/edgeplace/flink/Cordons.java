package dev.edgeplace.flink;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The TaskManagers where nothing new is put, as the files {@code *.cordon} say: each line is a
 * resource id or a host, the first may be {@code # until: SECONDS}.
 *
 * <p>The agent's thread reads the files; any thread asks what they say.
 */
public final class Cordons {
    private static final Pattern UNTIL = Pattern.compile("# until: ([0-9]{1,12})");
    private static final long LARGEST_BYTES = 64 << 10;
    private static final long FOR_EVER_S = Long.MAX_VALUE;

    /** One file. */
    private static final class Cordon {
        final String stamp;
        final Set<String> names = new HashSet<>();
        long untilS = FOR_EVER_S;
        /** Why the file is of no use, or null; then the rest is that of the former file. */
        String problem;

        Cordon(String stamp) {
            this.stamp = stamp;
        }

        boolean isInForce() {
            return untilS > System.currentTimeMillis() / 1000;
        }
    }

    private final PlansFolder folder;
    /** File name -> what it says; replaced as a whole. */
    private volatile Map<String, Cordon> all = Map.of();
    private volatile Set<String> keptWaiting = Set.of();

    Cordons(PlansFolder folder) {
        this.folder = folder;
    }

    /** Whether nothing new is put on a TaskManager of this resource id and host. */
    public boolean close(String resourceId, String host) {
        return cordonOf(resourceId, host) != null;
    }

    /** Returns what to tell a user who wants something there that is closed. */
    public String reason(String resourceId, String host) {
        Cordon by = cordonOf(resourceId, host);
        boolean ends = by != null && by.untilS != FOR_EVER_S;
        return "TaskManager " + resourceId + " takes nothing new"
                + (ends ? " until " + Instant.ofEpochSecond(by.untilS) : "")
                + ": use `edgeplace flink uncordon`, or plan without it";
    }

    /** Returns what to tell a user whose job has no plan, or null if no slots are kept from it. */
    public String whyKeptWaiting(String jobId) {
        return keptWaiting.contains(jobId)
                ? "the job waits for slots, and TaskManagers with free ones take nothing new: use"
                        + " `edgeplace flink uncordon`, or start another TaskManager"
                : null;
    }

    /** Sets the jobs without a plan that would have slots if nothing were closed, by their ids. */
    public void keepWaiting(Set<String> jobIds) {
        keptWaiting = jobIds;
    }

    /** Reads the files that have changed; the former stays where one is of no use. */
    void review() throws IOException {
        Map<String, Cordon> found = new TreeMap<>();
        for (Path path : folder.cordonPaths()) {
            String name = path.getFileName().toString();
            Cordon former = all.get(name);
            try {
                String stamp = PlanFile.stamp(path);
                found.put(
                        name,
                        former != null && former.stamp.equals(stamp)
                                ? former
                                : read(PlanFile.read(path, LARGEST_BYTES, "cordon", "a cordon"), former));
            } catch (NoSuchFileException e) {
                continue; // It was removed or replaced between the two looks.
            }
        }
        all = found;
    }

    /** Returns what {@code agent.json} says of each file. */
    List<Map<String, Object>> described() {
        List<Map<String, Object>> described = new ArrayList<>();
        all.forEach(
                (file, cordon) -> {
                    if (cordon.problem != null || cordon.isInForce()) {
                        Map<String, Object> one = new LinkedHashMap<>();
                        one.put("file", file);
                        one.put("until_s", cordon.untilS == FOR_EVER_S ? null : cordon.untilS);
                        one.put("problem", cordon.problem);
                        described.add(one);
                    }
                });
        return described;
    }

    private Cordon cordonOf(String resourceId, String host) {
        for (Cordon each : all.values()) {
            boolean isNamed = each.names.contains(resourceId) || each.names.contains(host);
            if (isNamed && each.isInForce()) {
                return each;
            }
        }
        return null;
    }

    private static Cordon read(PlanFile file, Cordon former) {
        Cordon read = new Cordon(file.stamp);
        read.problem = file.problem == null ? parse(file.bytes, read) : file.problem;
        if (read.problem != null) {
            read.names.clear();
            read.untilS = former == null ? 0 : former.untilS;
            read.names.addAll(former == null ? Set.of() : former.names);
        }
        return read;
    }

    /** Returns what is wrong with a text, or null. */
    private static String parse(byte[] bytes, Cordon into) {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            return "the file is not UTF-8: save it as UTF-8";
        }
        int number = 0;
        for (String line : text.split("\n")) {
            number++;
            Matcher until = UNTIL.matcher(line);
            if (number == 1 && until.matches()) {
                into.untilS = Long.parseLong(until.group(1));
            } else if (line.isEmpty() || line.startsWith("#") || !line.equals(line.strip())) {
                return "line " + number + ": write a resource id or a host, and nothing else";
            } else {
                into.names.add(line);
            }
        }
        return into.names.isEmpty() ? "it names no TaskManager: write a resource id" : null;
    }
}
