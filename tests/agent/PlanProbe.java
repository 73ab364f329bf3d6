package dev.edgeplace.flink;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Answers the tests: for each line {@code parse BASE64} or {@code key BASE64} on standard input, one
 * line of JSON with what the agent makes of it.
 */
final class PlanProbe {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] asked = line.split(" ", -1);
            byte[] bytes = Base64.getDecoder().decode(asked[1]);
            System.out.println(
                    Json.of(
                            asked[0].equals("key")
                                    ? PlansFolder.key(new String(bytes, StandardCharsets.UTF_8))
                                    : parsed(bytes)));
        }
    }

    private static Object parsed(byte[] bytes) {
        Schedulercfg read = Schedulercfg.parse(bytes);
        if (!read.problems.isEmpty()) {
            return java.util.Map.of("problems", read.problems);
        }
        List<Object> lines = new ArrayList<>();
        for (Schedulercfg.Line each : read.lines) {
            lines.add(List.of(each.task, each.subtask, each.parallelism, each.location));
        }
        return java.util.Map.of("lines", lines);
    }
}
