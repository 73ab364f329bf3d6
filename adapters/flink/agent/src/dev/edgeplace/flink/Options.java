package dev.edgeplace.flink;

import java.nio.file.Path;
import java.nio.file.Paths;

/** The options after {@code -javaagent:...jar=}: {@code key=value}, separated by commas. */
public final class Options {
    /** What happens to subtasks whose TaskManager is gone. */
    public enum Lost {
        /** They wait for it. */
        STRICT,
        /** They run elsewhere, and return when it is back. */
        FALLBACK
    }

    /** An option is unknown, or its value is wrong. */
    public static final class InvalidOptionException extends Exception {
        private static final long serialVersionUID = 1L;

        InvalidOptionException(String message) {
            super(message);
        }
    }

    private static final long DEFAULT_FALLBACK_AFTER_S = 30;

    public final Path plans;
    public final Lost lost;
    public final long fallbackAfterMs;

    private Options(Path plans, Lost lost, long fallbackAfterMs) {
        this.plans = plans;
        this.lost = lost;
        this.fallbackAfterMs = fallbackAfterMs;
    }

    /**
     * @param argument the text after the jar's path, or null
     * @param confDir {@code FLINK_CONF_DIR}, or null
     */
    static Options parse(String argument, String confDir) throws InvalidOptionException {
        Path plans = confDir == null ? null : Paths.get(confDir, "edgeplace");
        Lost lost = Lost.STRICT;
        long fallbackAfterS = DEFAULT_FALLBACK_AFTER_S;
        String text = argument == null ? "" : argument;
        for (String option : text.isEmpty() ? new String[0] : text.split(",", -1)) {
            int equals = option.indexOf('=');
            String key = equals < 0 ? option : option.substring(0, equals);
            String value = equals < 0 ? "" : option.substring(equals + 1);
            if (key.equals("plans") && !value.isEmpty()) {
                plans = Paths.get(value);
            } else if (key.equals("lost") && value.equals("strict")) {
                lost = Lost.STRICT;
            } else if (key.equals("lost") && value.equals("fallback")) {
                lost = Lost.FALLBACK;
            } else if (key.equals("fallback-after-s") && value.matches("[0-9]{1,6}")) {
                fallbackAfterS = Long.parseLong(value);
            } else {
                throw new InvalidOptionException(
                        "option '"
                                + option
                                + "' is not understood: there are plans=DIR, lost=strict|fallback"
                                + " and fallback-after-s=SECONDS");
            }
        }
        if (plans == null) {
            throw new InvalidOptionException(
                    "there is no folder of plans: FLINK_CONF_DIR is not set, and no plans=DIR given");
        }
        return new Options(plans.toAbsolutePath().normalize(), lost, fallbackAfterS * 1000);
    }
}
