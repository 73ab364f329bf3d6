package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The match of a plan file with the tasks of a job: the location of each subtask, or the problems.
 *
 * <p>It needs neither Flink nor the JobMaster's main thread. Problems name lines by number, and
 * tasks by the job's names. They quote no word of the file that is not the name of a task.
 */
public final class PlanMatch {
    public final PlanFile file;
    /**
     * For each task, in the job's order, the locations of its subtasks. Complete if there are no
     * problems. The length of an array is the planned parallelism.
     */
    public final List<String[]> locations = new ArrayList<>();
    public final PlanSettings settings;

    private final JobTasks tasks;
    private final Problems problems;

    private PlanMatch(PlanFile file, JobTasks tasks, Schedulercfg text) {
        this.file = file;
        this.tasks = tasks;
        this.problems = text.problems;
        this.settings = text.settings;
        for (int i = 0; i < tasks.all.size(); i++) {
            locations.add(null);
        }
    }

    /** Matches the lines of a file with the tasks of a job. */
    public static PlanMatch of(PlanFile file, JobTasks tasks) {
        if (file.problem != null) {
            PlanMatch unread = new PlanMatch(file, tasks, Schedulercfg.ofNothing());
            unread.problems.add(file.problem);
            return unread;
        }
        Schedulercfg text = Schedulercfg.parse(file.bytes);
        PlanMatch match = new PlanMatch(file, tasks, text);
        if (match.problems.isEmpty()) {
            match.place(text);
        }
        if (match.problems.isEmpty()) {
            match.checkComplete();
        }
        if (match.problems.isEmpty()) {
            match.checkForwardGroups();
        }
        return match;
    }

    /** Returns what is wrong, where, and the cure; empty if the plan fits the job. */
    public List<String> problems() {
        return problems.listed();
    }

    /** Returns a name without the node ids of Flink's SQL planner, which differ between runs. */
    private static String withoutNodeIds(String name) {
        return name.replaceAll("\\[[0-9]+\\]", "");
    }

    private void place(Schedulercfg text) {
        Map<String, Integer> byId = new HashMap<>();
        Map<String, Set<Integer>> byName = new HashMap<>();
        for (int i = 0; i < tasks.all.size(); i++) {
            byId.put(tasks.all.get(i).id, i);
            String name = withoutNodeIds(tasks.all.get(i).name);
            byName.computeIfAbsent(name, k -> new LinkedHashSet<>()).add(i);
        }
        List<int[]> lineOf = new ArrayList<>();
        tasks.all.forEach(each -> lineOf.add(null));
        for (Schedulercfg.Line line : text.lines) {
            if (problems.isFull()) {
                return;
            }
            Set<Integer> means =
                    new LinkedHashSet<>(
                            byName.getOrDefault(withoutNodeIds(line.task), Set.of()));
            if (byId.containsKey(line.task)) {
                means.add(byId.get(line.task));
            }
            if (means.size() == 1) {
                place(line, means.iterator().next(), lineOf);
            } else {
                problems.add("line " + line.number + ": " + notOneTask(means));
            }
        }
    }

    private void place(Schedulercfg.Line line, int task, List<int[]> lineOf) {
        String where = "line " + line.number + ": ";
        JobTasks.Task means = tasks.all.get(task);
        String problem = parallelismProblem(line, means, locations.get(task));
        if (problem != null) {
            problems.add(where + problem);
            return;
        }
        if (locations.get(task) == null) {
            locations.set(task, new String[line.parallelism]);
            lineOf.set(task, new int[line.parallelism]);
        }
        int i = line.subtask - 1;
        if (lineOf.get(task)[i] > 0) {
            problems.add(where + "this subtask has a line already: line " + lineOf.get(task)[i]);
        } else {
            lineOf.get(task)[i] = line.number;
            locations.get(task)[i] = line.location;
        }
    }

    /** Returns why a task cannot have the parallelism of a line, or null. */
    private String parallelismProblem(
            Schedulercfg.Line line, JobTasks.Task task, String[] placesSoFar) {
        String wanted = "the plan is for parallelism " + line.parallelism + ", " + Quote.of(task.name);
        if (placesSoFar != null && placesSoFar.length != line.parallelism) {
            return wanted + " has " + placesSoFar.length
                    + " in the lines above: write one of the two in all";
        }
        if (line.parallelism == task.parallelism) {
            return null;
        }
        if (tasks.fixedBecause != null) {
            return wanted + " has " + task.parallelism + ", and " + tasks.fixedBecause
                    + ": solve again for the job as it runs";
        }
        if (line.parallelism > task.maxParallelism) {
            return wanted + " has " + task.maxParallelism
                    + " key groups, its max parallelism: plan that many subtasks at most, or start"
                    + " the job anew with setMaxParallelism";
        }
        return null;
    }

    private String notOneTask(Set<Integer> means) {
        if (means.isEmpty()) {
            return "the job has no task of this name or id: is the plan of another job, or of"
                    + " another version of this one?";
        }
        Set<String> ids = new TreeSet<>();
        means.forEach(each -> ids.add(tasks.all.get(each).id));
        return "it means " + means.size() + " tasks: use their JobVertexIDs "
                + Quote.cut(ids.toString());
    }

    private void checkComplete() {
        for (int task = 0; task < tasks.all.size(); task++) {
            String name = Quote.of(tasks.all.get(task).name);
            String[] places = locations.get(task);
            if (places == null) {
                problems.add(name + " has no line: a plan places every subtask");
                continue;
            }
            for (int i = 0; i < places.length; i++) {
                if (problems.isFull()) {
                    return;
                }
                if (places[i] == null) {
                    problems.add(
                            name + " (" + (i + 1) + "/" + places.length
                                    + ") has no line: a plan places every subtask");
                }
            }
        }
    }

    /** If FORWARD joins unequal parallelisms, Flink leaves subtasks without input. */
    private void checkForwardGroups() {
        Map<Integer, Integer> firstOf = new HashMap<>();
        for (int task = 0; task < tasks.all.size(); task++) {
            Integer first = firstOf.putIfAbsent(tasks.all.get(task).forwardGroup, task);
            if (first != null && locations.get(task).length != locations.get(first).length) {
                problems.add(
                        Quote.of(tasks.all.get(first).name) + " and "
                                + Quote.of(tasks.all.get(task).name)
                                + " are joined by FORWARD and have one parallelism, the plan has "
                                + locations.get(first).length + " and "
                                + locations.get(task).length + ": plan the same for both");
            }
        }
    }
}
