package dev.edgeplace.flink;

/** Names in messages: they come from users, may be long, and end up in logs and in status files. */
public final class Quote {
    private static final int LONGEST = 100;

    private Quote() {}

    /** Returns a name in quotes, of bounded length. */
    public static String of(String name) {
        return "'" + cut(name) + "'";
    }

    /** Returns the start of a name, on one line and without control characters. */
    public static String cut(String name) {
        String start = name.length() > LONGEST ? name.substring(0, LONGEST) + "..." : name;
        StringBuilder shown = new StringBuilder();
        for (int i = 0; i < start.length(); i++) {
            char c = start.charAt(i);
            shown.append(Character.isISOControl(c) ? '?' : c);
        }
        return shown.toString();
    }
}
