package dev.edgeplace.flink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A plan file matched with the tasks of a job: where each subtask shall run, or what is wrong.
 *
 * <p>It needs neither Flink nor the JobMaster's main thread. Problems name lines, and tasks by what
 * the job calls them: no word of a file is quoted that does not name a task of the job.
 */
public final class PlanMatch {
    public final PlanFile file;
    /** Of each task, in the job's order, the location of each subtask; whole if nothing is wrong. */
    public final List<String[]> locations = new ArrayList<>();

    private final JobTasks tasks;
    private final Problems problems;

    private PlanMatch(PlanFile file, JobTasks tasks, Problems problems) {
        this.file = file;
        this.tasks = tasks;
        this.problems = problems;
        for (JobTasks.Task task : tasks.all) {
            locations.add(new String[Math.max(0, task.parallelism)]);
        }
    }

    /** Matches the lines of a file, if it could be read and they are lines of a plan. */
    public static PlanMatch of(PlanFile file, JobTasks tasks) {
        if (file.problem != null) {
            PlanMatch unread = new PlanMatch(file, tasks, new Problems());
            unread.problems.add(file.problem);
            return unread;
        }
        Schedulercfg text = Schedulercfg.parse(file.bytes);
        PlanMatch match = new PlanMatch(file, tasks, text.problems);
        if (match.problems.isEmpty()) {
            match.place(text);
        }
        if (match.problems.isEmpty()) {
            match.checkComplete();
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
        locations.forEach(each -> lineOf.add(new int[each.length]));
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
                int task = means.iterator().next();
                place(line, task, lineOf.get(task));
            } else {
                problems.add("line " + line.number + ": " + notOneTask(means));
            }
        }
    }

    private void place(Schedulercfg.Line line, int task, int[] lineOf) {
        String where = "line " + line.number + ": ";
        JobTasks.Task means = tasks.all.get(task);
        int i = line.subtask - 1;
        if (line.parallelism != means.parallelism) {
            problems.add(
                    where + "the plan is for parallelism " + line.parallelism + ", "
                            + Quote.of(means.name) + " has " + means.parallelism
                            + ": solve again for the job as it runs");
        } else if (lineOf[i] > 0) {
            problems.add(where + "this subtask has a line already: line " + lineOf[i]);
        } else {
            lineOf[i] = line.number;
            locations.get(task)[i] = line.location;
        }
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
            String[] places = locations.get(task);
            for (int i = 0; i < places.length; i++) {
                if (problems.isFull()) {
                    return;
                }
                if (places[i] == null) {
                    problems.add(
                            Quote.of(tasks.all.get(task).name) + " (" + (i + 1) + "/" + places.length
                                    + ") has no line: a plan places every subtask");
                }
            }
        }
    }
}
