package dev.edgeplace.flink;

/** Quotes names in messages. Users choose the names; logs and status files show them. */
public final class Quote {
    private static final int LONGEST = 100;

    private Quote() {}

    /** Returns a name in quotes, cut at the largest length. */
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
