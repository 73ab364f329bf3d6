package dev.edgeplace.flink;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The settings at the top of a plan: lines {@code # name: number}. */
public final class PlanSettings {
    /** There is no such figure in the plan. */
    public static final long UNKNOWN = -1;

    private static final Pattern LINE = Pattern.compile("# ([a-z-]{1,40}): ([0-9]{1,15})");
    /** The shortest that Flink allows. */
    private static final long SHORTEST_INTERVAL_MS = 10;
    private static final long LONGEST_INTERVAL_MS = 365L * 24 * 3600 * 1000;
    static final String EPOCH = "epoch";
    private static final String CHECKPOINT_INTERVAL_MS = "checkpoint-interval-ms";
    private static final String PREDICTED_WAN_BYTES_PER_S = "predicted-wan-bytes-per-s";
    private static final String PREDICTED_HEADROOM_PERCENT = "predicted-headroom-percent";
    /** The names of all settings that this agent knows. */
    static final List<String> NAMES =
            List.of(
                    EPOCH,
                    CHECKPOINT_INTERVAL_MS,
                    PREDICTED_WAN_BYTES_PER_S,
                    PREDICTED_HEADROOM_PERCENT);

    private final Map<String, Long> values = new HashMap<>();
    private final List<String> known;

    /** Accepts the settings of these names. */
    PlanSettings(List<String> known) {
        this.known = known;
    }

    /** Adds the setting of a line; returns its problem, or null. */
    String add(String line) {
        Matcher setting = LINE.matcher(line);
        if (!setting.matches() || !known.contains(setting.group(1))) {
            return "it is no setting: there are `# " + String.join(": N`, `# ", known) + ": N`";
        }
        long value = Long.parseLong(setting.group(2));
        if (values.putIfAbsent(setting.group(1), value) != null) {
            return "this setting has a line already: keep one of the two";
        }
        if (setting.group(1).equals(CHECKPOINT_INTERVAL_MS)
                && (value < SHORTEST_INTERVAL_MS || value > LONGEST_INTERVAL_MS)) {
            return "a checkpoint interval is " + SHORTEST_INTERVAL_MS + " ms to a year";
        }
        return null;
    }

    /** Returns the epoch of the plan's writer, 0 if the plan has none. */
    public long epoch() {
        return values.getOrDefault(EPOCH, 0L);
    }

    /** Returns the checkpoint interval that the plan asks for, 0 if it asks for none. */
    public long checkpointIntervalMs() {
        return values.getOrDefault(CHECKPOINT_INTERVAL_MS, 0L);
    }

    /** Returns what the plan's writer expects on all links of the WAN, or {@link #UNKNOWN}. */
    public long predictedWanBytesPerS() {
        return values.getOrDefault(PREDICTED_WAN_BYTES_PER_S, UNKNOWN);
    }

    /** Returns how far all sources can grow by the plan's writer, or {@link #UNKNOWN}. */
    public long predictedHeadroomPercent() {
        return values.getOrDefault(PREDICTED_HEADROOM_PERCENT, UNKNOWN);
    }
}
