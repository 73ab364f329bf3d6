package dev.edgeplace.flink.split;

import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The text of {@code KEY.shares}: the weights of combining subtasks, a line each.
 *
 * <p>{@code adapters/flink/split/shares.py} states the grammar and reads the same. Nothing of a text
 * is used if anything in it is wrong. Problems name lines and quote nothing.
 */
final class Shares {
    /** The weights of one task. */
    static final class OfTask {
        final int workers;
        /** Router subtasks, or 0 if no line names one. */
        int routers;
        /** Router, from 0, or {@link #ALL} -> weight of each worker; NaN for none. */
        private final Map<Integer, double[]> weights = new TreeMap<>();

        OfTask(int workers) {
            this.workers = workers;
        }

        /** Returns the weights that a router uses. */
        double[] of(int router) {
            double[] own = weights.get(router);
            return own == null ? weights.get(ALL) : own;
        }

        /** Returns the weights of the routers that have none of their own, or null. */
        double[] ofAll() {
            return weights.get(ALL);
        }

        /** Returns router, from 1, or {@code *} -> weights, for a report. */
        Map<String, List<Double>> listed() {
            Map<String, List<Double>> found = new LinkedHashMap<>();
            weights.forEach(
                    (router, each) ->
                            found.put(
                                    router == ALL ? "*" : String.valueOf(router + 1),
                                    Arrays.stream(each).boxed().collect(Collectors.toList())));
            return found;
        }

        private String text(String task) {
            StringBuilder text = new StringBuilder();
            weights.forEach(
                    (router, each) -> {
                        String from =
                                router == ALL ? "" : " <- (" + (router + 1) + "/" + routers + ")";
                        for (int i = 0; i < workers; i++) {
                            text.append(task).append(" (").append(i + 1).append('/');
                            text.append(workers).append(')').append(from).append("; ");
                            text.append(each[i]).append('\n');
                        }
                    });
            return text.toString();
        }
    }

    private static final int ALL = -1;
    private static final String FROM = " <-";
    private static final Pattern WEIGHT =
            Pattern.compile("[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]{1,3})?");
    private static final double SMALLEST = 1e-9;
    private static final double LARGEST = 1e9;
    private static final int MOST_WORKERS = 1 << 15;

    /** By task. */
    final Map<String, OfTask> tasks = new LinkedHashMap<>();
    /** The number of the text's writer, 0 for none. */
    long epoch;
    private final Problems problems = new Problems();

    private Shares() {}

    /** Returns what a text says, with its problems if it is not used. */
    static Shares parse(byte[] bytes) {
        Shares read = new Shares();
        Schedulercfg lines = Schedulercfg.parse(bytes, "weight", List.of(PlanSettings.EPOCH));
        if (lines.problems.isEmpty() && bytes[bytes.length - 1] != '\n') {
            lines.problems.add("the last line has no end, as in a file half written: end it in LF");
        }
        lines.problems.listed().forEach(read.problems::add);
        if (read.problems.isEmpty()) {
            read.epoch = lines.settings.epoch();
            lines.lines.forEach(read::add);
        }
        return read;
    }

    /** Returns the text that says the weights of one task. */
    static String text(String task, OfTask shares, long epoch) {
        return "# " + PlanSettings.EPOCH + ": " + epoch + "\n" + shares.text(task);
    }

    /** Returns why the weights cannot be used by these routers; empty if they can. */
    List<String> problemsFor(Collection<Routers> all, long lowestEpoch) {
        List<String> found = problems.listed();
        if (found.isEmpty() && epoch > 0 && epoch < lowestEpoch) {
            found.add("its epoch is " + epoch + ", and " + lowestEpoch + " was seen before: a writer"
                    + " that was replaced");
        }
        if (!found.isEmpty()) {
            return found;
        }
        tasks.forEach(
                (task, shares) -> {
                    List<Routers> own =
                            all.stream()
                                    .filter(each -> each.combine.equals(task))
                                    .collect(Collectors.toList());
                    if (own.isEmpty()) {
                        // Names of the file are not quoted: it may be another file.
                        found.add("it has weights of a task that is no combining one of this job,"
                                + " or has no router: " + named(all));
                    } else if (own.size() > 1) {
                        found.add(own.size() + " combining tasks of this job are named "
                                + Quote.of(task) + ": give each a name with named(...)");
                    } else {
                        check(task, shares, own.get(0), found);
                    }
                });
        return found;
    }

    private static String named(Collection<Routers> all) {
        return all.isEmpty()
                ? "spread(n) makes one"
                : "those that have one are "
                        + all.stream()
                                .map(each -> Quote.of(each.combine))
                                .distinct()
                                .sorted()
                                .collect(Collectors.joining(", "));
    }

    private static void check(String task, OfTask shares, Routers routers, List<String> found) {
        String name = Quote.of(task);
        if (shares.workers != routers.workers) {
            found.add("it has weights for " + shares.workers + " subtasks of " + name + ", which has "
                    + routers.workers);
        } else if (shares.routers > 0 && routers.count > 0 && shares.routers != routers.count) {
            found.add("it has lines for " + shares.routers + " routers of " + name + ", which has "
                    + routers.count);
        } else if (shares.ofAll() == null && shares.weights.size() < shares.routers) {
            found.add("it has weights for only " + shares.weights.size() + " of the "
                    + shares.routers + " routers of " + name);
        }
        shares.weights.forEach((router, weights) -> checkWeights(name, router, weights, found));
    }

    private static void checkWeights(
            String name, int router, double[] weights, List<String> found) {
        String of = name + (router == ALL ? "" : " from router " + (router + 1));
        double sum = 0;
        int missing = 0;
        for (double weight : weights) {
            missing += Double.isNaN(weight) ? 1 : 0;
            sum += weight;
        }
        if (missing > 0) {
            found.add(missing + " of the " + weights.length + " subtasks of " + of
                    + " have no weight: write a line for each");
        } else if (sum == 0) {
            found.add("all weights of " + of + " are 0: no worker would be left");
        }
    }

    private void add(Schedulercfg.Line line) {
        String key = line.task;
        int worker = line.subtask;
        int workers = line.parallelism;
        int router = ALL;
        if (key.endsWith(FROM)) {
            Matcher indexed = Schedulercfg.INDEXED.matcher(key.substring(0, key.length() - FROM.length()));
            if (!indexed.matches()) {
                problem(line, "write `Task name (i/n) <- (r/m); weight`");
                return;
            }
            router = worker - 1;
            key = indexed.group(1);
            worker = Integer.parseInt(indexed.group(2));
            workers = Integer.parseInt(indexed.group(3));
        }
        Double weight = weight(line.location);
        if (workers > MOST_WORKERS || worker < 1 || worker > workers) {
            problem(line, "subtasks are numbered 1 to n, and n is " + MOST_WORKERS + " at most");
        } else if (weight == null) {
            problem(line, "a weight is 0, or a number from 1e-9 to 1e9, such as 0.25");
        } else {
            put(line, key, worker, workers, router, weight);
        }
    }

    private void put(
            Schedulercfg.Line line,
            String key,
            int worker,
            int workers,
            int router,
            double weight) {
        OfTask task = tasks.computeIfAbsent(key, name -> new OfTask(workers));
        if (task.workers != workers) {
            problem(line, "lines above give this task another number of subtasks");
            return;
        }
        if (router != ALL && task.routers != 0 && task.routers != line.parallelism) {
            problem(line, "lines above give this task another number of routers");
            return;
        }
        task.routers = router == ALL ? task.routers : line.parallelism;
        double[] weights = task.weights.computeIfAbsent(router, each -> nothing(workers));
        if (!Double.isNaN(weights[worker - 1])) {
            problem(line, "this subtask has a line already: keep one of the two");
            return;
        }
        weights[worker - 1] = weight;
    }

    private static Double weight(String text) {
        if (!WEIGHT.matcher(text).matches()) {
            return null;
        }
        double weight = Double.parseDouble(text);
        boolean isUsable = weight == 0 || weight >= SMALLEST && weight <= LARGEST;
        return isUsable ? weight : null;
    }

    private static double[] nothing(int workers) {
        double[] weights = new double[workers];
        Arrays.fill(weights, Double.NaN);
        return weights;
    }

    private void problem(Schedulercfg.Line line, String text) {
        problems.add("line " + line.number + ": " + text);
    }
}
