package dev.edgeplace.flink;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Answers the tests: for each line on standard input one line of JSON with what the agent makes of
 * it. A line is a word and arguments in Base64, separated by blanks:
 *
 * <ul>
 *   <li>{@code parse TEXT}: the lines of a plan, or what is wrong
 *   <li>{@code key NAME}: what a job is called in the names of files
 *   <li>{@code limit TASKS}: how large a plan of a job can be; TASKS has a line {@code
 *       id|n|max n|number of its FORWARD group|name} for each task
 *   <li>{@code judge TASKS PATH}: the locations in a plan file, or what is wrong
 *   <li>{@code cordons FOLDER NAME}: what the cordons of a folder say, and whether they close a
 *       TaskManager of this id or host; a folder that was asked about before is looked at again
 *   <li>{@code hold FOLDER JOB LOCATION ID THERE}: a job has a place of this TaskManager, while
 *       others are there, too, one id a line; this is kept in the folder
 *   <li>{@code heir FOLDER JOB LOCATION IDS HELD}: which TaskManager has the places of a location,
 *       one id a line
 *   <li>{@code fixed TEXT}: from now on, no parallelism can be changed, for this reason
 * </ul>
 */
final class PlanProbe {
    /** Why no parallelism can be changed: of the last {@code fixed}, empty for none. */
    private static String fixed = "";

    private static final Map<String, Cordons> CORDONS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] asked = line.split(" ", -1);
            List<byte[]> given = new ArrayList<>();
            for (int i = 1; i < asked.length; i++) {
                given.add(Base64.getDecoder().decode(asked[i]));
            }
            System.out.println(Json.of(answer(asked[0], given)));
        }
    }

    private static Object answer(String asked, List<byte[]> given) throws Exception {
        switch (asked) {
            case "fixed":
                fixed = text(given.get(0));
                return Map.of();
            case "key":
                return PlansFolder.key(text(given.get(0)));
            case "limit":
                return tasks(given.get(0)).largestPlanBytes();
            case "judge":
                return judged(tasks(given.get(0)), Path.of(text(given.get(1))));
            case "hold":
                Succession of = succession(given);
                of.hold(text(given.get(2)), text(given.get(3)), lines(given.get(4)));
                of.keep(List.of(text(given.get(2))));
                return Map.of();
            case "heir":
                return Collections.singletonMap(
                        "heir",
                        succession(given)
                                .heir(
                                        text(given.get(2)),
                                        lines(given.get(3)),
                                        lines(given.get(4))));
            case "cordons":
                return closed(text(given.get(0)), text(given.get(1)));
            default:
                return parsed(given.get(0));
        }
    }

    private static Object parsed(byte[] bytes) {
        Schedulercfg read = Schedulercfg.parse(bytes);
        if (!read.problems.isEmpty()) {
            return Map.of("problems", read.problems.listed());
        }
        List<Object> lines = new ArrayList<>();
        for (Schedulercfg.Line each : read.lines) {
            lines.add(List.of(each.task, each.subtask, each.parallelism, each.location));
        }
        return Map.of(
                "lines", lines,
                "epoch", read.settings.epoch(),
                "interval_ms", read.settings.checkpointIntervalMs(),
                "wan", read.settings.predictedWanBytesPerS(),
                "headroom", read.settings.predictedHeadroomPercent());
    }

    private static Object judged(JobTasks tasks, Path path) throws Exception {
        PlanMatch match = PlanMatch.of(PlanFile.read(path, tasks.largestPlanBytes()), tasks);
        if (!match.problems().isEmpty()) {
            return Map.of("problems", match.problems());
        }
        List<Object> places = new ArrayList<>();
        match.locations.forEach(each -> places.add(List.of(each)));
        return Map.of("places", places);
    }

    private static Object closed(String folder, String name) throws Exception {
        Cordons cordons =
                CORDONS.computeIfAbsent(folder, x -> new Cordons(new PlansFolder(Path.of(x))));
        cordons.review();
        return Map.of("files", cordons.described(), "closed", cordons.close(name, ""));
    }

    private static JobTasks tasks(byte[] bytes) {
        List<JobTasks.Task> tasks = new ArrayList<>();
        for (String line : text(bytes).split("\n")) {
            String[] said = line.split("\\|", 5);
            tasks.add(
                    new JobTasks.Task(
                            said[0],
                            said[4],
                            Integer.parseInt(said[1]),
                            Integer.parseInt(said[2]),
                            Integer.parseInt(said[3])));
        }
        return new JobTasks(tasks, fixed.isEmpty() ? null : fixed);
    }

    private static Succession succession(List<byte[]> given) throws Exception {
        return Succession.of(new PlansFolder(Path.of(text(given.get(0)))), text(given.get(1)));
    }

    private static List<String> lines(byte[] bytes) {
        return text(bytes).lines().collect(Collectors.toList());
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
