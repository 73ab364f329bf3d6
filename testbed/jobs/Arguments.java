package testbed.jobs;

import java.util.HashMap;
import java.util.Map;

/** The arguments of a job: {@code key=value} each. */
final class Arguments {
    private final Map<String, String> values = new HashMap<>();

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
        return values.getOrDefault(key, otherwise);
    }

    String text(String key) {
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

    boolean flag(String key, boolean otherwise) {
        return Boolean.parseBoolean(text(key, String.valueOf(otherwise)));
    }
}
