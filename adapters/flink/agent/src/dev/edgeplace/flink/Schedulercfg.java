package dev.edgeplace.flink;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The text of a plan, dialect "modern": one line {@code Task name (i/n); location} per subtask.
 *
 * <p>Lines at its top may be {@link PlanSettings}.
 *
 * <p>{@code adapters/flink/schedulercfg/parser.py} states the grammar and reads the same. Problems
 * name lines and quote nothing: a file that is not a plan may be confidential.
 */
public final class Schedulercfg {
    /** One line. */
    public static final class Line {
        public final int number;
        /** A vertex's name or JobVertexID. */
        public final String task;
        /** Counted from 1. */
        public final int subtask;
        public final int parallelism;
        /** A TaskManager's resource id or host. */
        public final String location;

        Line(int number, String task, int subtask, int parallelism, String location) {
            this.number = number;
            this.task = task;
            this.subtask = subtask;
            this.parallelism = parallelism;
            this.location = location;
        }
    }

    static final Pattern INDEXED =
            Pattern.compile("(.*) \\(([0-9]{1,9})/([0-9]{1,9})\\)", Pattern.DOTALL);

    public final List<Line> lines = new ArrayList<>();
    public final PlanSettings settings;
    /** What is wrong, with line and cure. If there is a problem, the lines are not used. */
    public final Problems problems = new Problems();

    /** What stands behind a task. */
    private final String value;

    private Schedulercfg(String value, PlanSettings settings) {
        this.value = value;
        this.settings = settings;
    }

    /** Returns the text of a file that could not be read. */
    static Schedulercfg ofNothing() {
        return new Schedulercfg("location", new PlanSettings(PlanSettings.NAMES));
    }

    /** Reads the bytes of a file as a whole. */
    public static Schedulercfg parse(byte[] bytes) {
        return parse(bytes, "location", PlanSettings.NAMES);
    }

    /**
     * Reads a file that says something else of each task.
     *
     * @param value what stands where a plan has the location
     * @param known names of the settings that it can have
     */
    static Schedulercfg parse(byte[] bytes, String value, List<String> known) {
        Schedulercfg read = new Schedulercfg(value, new PlanSettings(known));
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            read.problems.add("the file is not UTF-8: save it as UTF-8");
            return read;
        }
        if (text.startsWith("\ufeff")) {
            read.problems.add("line 1: a byte order mark precedes the first task: save without it");
            return read;
        }
        if (text.indexOf('\r') >= 0) {
            read.problems.add("there are carriage returns (CR): end lines in LF only");
            return read;
        }
        int end = text.length();
        while (end > 0 && text.charAt(end - 1) == '\n') {
            end--;
        }
        if (end == 0) {
            read.problems.add("the file is empty: write a line for each subtask");
            return read;
        }
        int number = 0;
        int from = 0;
        while (from <= end && !read.problems.isFull()) {
            int to = text.indexOf('\n', from);
            to = to < 0 || to > end ? end : to;
            read.add(++number, text.substring(from, to));
            from = to + 1;
        }
        return read;
    }

    private void add(int number, String line) {
        if (line.startsWith("# ") && lines.isEmpty() && line.lastIndexOf("; ") < 0) {
            String problem = settings.add(line);
            if (problem != null) {
                problem(number, problem);
            }
            return;
        }
        int split = line.lastIndexOf("; ");
        if (isBlank(line)) {
            problem(number, "the line is blank: remove it");
        } else if (split < 0) {
            problem(number, "it has no '; ': write `Task name (i/n); " + value + "`");
        } else if (line.lastIndexOf("; ", split - 1) >= 0) {
            problem(
                    number,
                    "it has more than one '; ': use the JobVertexID of a task whose name has one");
        } else {
            add(number, line.substring(0, split), line.substring(split + 2));
        }
    }

    private void add(int number, String task, String location) {
        if (hasBlankEnds(task) || hasBlankEnds(location)) {
            problem(number, "blanks at the ends or around '; ' count as part of names: remove them");
            return;
        }
        if (location.isEmpty()) {
            problem(
                    number,
                    "no " + value + " stands behind '; ': write `Task name (i/n); " + value + "`");
            return;
        }
        Matcher indexed = INDEXED.matcher(task);
        if (!indexed.matches()) {
            problem(number, "the task lacks its subtask: write `Task name (i/n)`");
            return;
        }
        int subtask = Integer.parseInt(indexed.group(2));
        int parallelism = Integer.parseInt(indexed.group(3));
        String plain = indexed.group(1) + " (" + subtask + "/" + parallelism + ")";
        if (subtask < 1 || subtask > parallelism || !task.equals(plain)) {
            problem(number, "subtasks are numbered 1 to n, without leading zeros");
            return;
        }
        lines.add(new Line(number, indexed.group(1), subtask, parallelism, location));
    }

    private void problem(int number, String text) {
        problems.add("line " + number + ": " + text);
    }

    private static boolean isBlank(String text) {
        return strip(text).isEmpty();
    }

    private static boolean hasBlankEnds(String text) {
        return !text.equals(strip(text));
    }

    /** As Python's {@code str.strip}, which also takes the separators 1c to 1f for blanks. */
    private static String strip(String text) {
        int from = 0;
        int to = text.length();
        while (from < to && isBlank(text.charAt(from))) {
            from++;
        }
        while (to > from && isBlank(text.charAt(to - 1))) {
            to--;
        }
        return text.substring(from, to);
    }

    private static boolean isBlank(char c) {
        return Character.isWhitespace(c) || Character.isSpaceChar(c) || c == '\u0085';
    }
}
