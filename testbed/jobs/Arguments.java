package testbed.jobs;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The arguments of a job: {@code key=value} each. */
final class Arguments {
    private final Map<String, String> values = new HashMap<>();
    private final Set<String> asked = new HashSet<>();

    Arguments(String[] args) {
        for (String arg : args) {
            int separator = arg.indexOf('=');
            if (separator < 0) {
                throw new IllegalArgumentException("not of the form key=value: " + arg);
            }
            values.put(arg.substring(0, separator), arg.substring(separator + 1));
        }
    }

    String text(String key, String otherwise) {
        asked.add(key);
        return values.getOrDefault(key, otherwise);
    }

    String text(String key) {
        asked.add(key);
        if (!values.containsKey(key)) {
            throw new IllegalArgumentException("the argument " + key + "=... is missing");
        }
        return values.get(key);
    }

    int integer(String key, int otherwise) {
        return Integer.parseInt(text(key, String.valueOf(otherwise)));
    }

    long whole(String key, long otherwise) {
        return Long.parseLong(text(key, String.valueOf(otherwise)));
    }

    double decimal(String key, double otherwise) {
        return Double.parseDouble(text(key, String.valueOf(otherwise)));
    }

    boolean flag(String key, boolean otherwise) {
        return Boolean.parseBoolean(text(key, String.valueOf(otherwise)));
    }

    /** Refuses arguments that nobody has asked for: most likely misspelt. */
    void refuseOthers() {
        Set<String> others = new TreeSet<>(values.keySet());
        others.removeAll(asked);
        if (!others.isEmpty()) {
            throw new IllegalArgumentException(
                    "unknown arguments: " + others + "; known: " + new TreeSet<>(asked));
        }
    }
}
