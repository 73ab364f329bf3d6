package testbed.jobs;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** All results of a job that ends, in a form that does not depend on their order. */
public class Findings {
    /** For checkpoints. */
    static final TypeInformation<Findings> TYPE =
            Types.POJO(
                    Findings.class,
                    Map.of(
                            "latest", Types.MAP(Types.STRING, Types.STRING),
                            "count", Types.LONG,
                            "checksum", Types.LONG));

    public Map<String, String> latest = new HashMap<>();
    public long count;
    public long checksum;

    /** Adds a result that stands beside all others. */
    void add(String text) {
        count++;
        checksum += Mix.of(text);
    }

    /** Replaces the result about something. */
    void put(String key, String text) {
        String former = latest.put(key, text);
        if (former != null) {
            count--;
            checksum -= Mix.of(former);
        }
        add(text);
    }

    /** Returns JSON: count, sum of hashes, and the results that could be replaced. */
    String json() {
        StringBuilder json = new StringBuilder();
        json.append("{\"count\": ").append(count);
        json.append(", \"checksum\": ").append(checksum);
        json.append(", \"latest\": {");
        String separator = "";
        for (Map.Entry<String, String> each : new TreeMap<>(latest).entrySet()) {
            json.append(separator).append('"').append(each.getKey()).append("\": \"");
            json.append(each.getValue()).append('"');
            separator = ", ";
        }
        return json.append("}}\n").toString();
    }
}
