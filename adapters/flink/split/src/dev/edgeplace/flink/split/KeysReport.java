package dev.edgeplace.flink.split;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What {@code JOBID.keys.json} says; {@code docs/keys.md} describes its fields. */
final class KeysReport {
    private static final int MOST_LISTED = 10;

    volatile String jobId;
    volatile String jobName;
    String file;
    String judgedSha256;
    String usedSha256;
    long epoch;
    List<String> refused = List.of();
    /** Else who guesses a key could find its hash in the file. */
    private final long salt = new SecureRandom().nextLong();

    Map<String, Object> of(Collection<Routers> all) {
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("edgeplace_keys", 1);
        report.put("job_id", jobId);
        report.put("job_name", jobName);
        report.put("shares_file", file);
        report.put("shares_sha256", judgedSha256);
        report.put("used_sha256", usedSha256);
        report.put("epoch", epoch);
        report.put("refused", refused);
        List<Object> splits = new ArrayList<>();
        all.forEach(each -> splits.add(split(each)));
        report.put("splits", splits);
        report.put("updated_ms", System.currentTimeMillis());
        return report;
    }

    private Map<String, Object> split(Routers routers) {
        Map<String, Object> split = new LinkedHashMap<>();
        split.put("combine", routers.combine);
        split.put("workers", routers.workers);
        split.put("routers", routers.count);
        split.put("routers_following", routers.following());
        split.put("weights", routers.shares == null ? null : routers.shares.listed());
        Load load = new Load(routers.workers);
        routers.slides.values().forEach(load::add);
        load.into(split);
        return split;
    }

    /** The last slides of all routers of a split aggregate. */
    private final class Load {
        private final long[] loads;
        private final double[] expected;
        private final Map<Long, Long> hot = new HashMap<>();
        private final Map<Long, Integer> workersOfHot = new HashMap<>();
        private long records;
        private long frequentRecords;
        private long frequentKeys;
        private long pieces;

        Load(int workers) {
            loads = new long[workers];
            expected = new double[workers];
        }

        void add(Slide slide) {
            if (slide.loads.length != loads.length) {
                return;
            }
            double sum = 0;
            for (double weight : slide.weights) {
                sum += weight;
            }
            for (int i = 0; i < loads.length; i++) {
                loads[i] += slide.loads[i];
                expected[i] += slide.records * slide.weights[i] / sum;
            }
            records += slide.records;
            frequentRecords += slide.frequentRecords;
            frequentKeys += slide.frequentKeys;
            pieces += slide.pieces;
            for (Slide.Frequent each : slide.most) {
                hot.merge(each.hash, each.records, Long::sum);
                workersOfHot.merge(each.hash, each.workers, Math::max);
            }
        }

        void into(Map<String, Object> split) {
            split.put("records_per_s", records);
            split.put("level_records_per_s", records / (double) loads.length);
            split.put("imbalance", imbalance());
            split.put("fan_out", frequentKeys == 0 ? 1.0 : pieces / (double) frequentKeys);
            split.put("frequent_keys", frequentKeys);
            split.put("frequent_share", records == 0 ? 0.0 : frequentRecords / (double) records);
            List<Long> perWorker = new ArrayList<>();
            for (long load : loads) {
                perWorker.add(load);
            }
            split.put("load_records_per_s", perWorker);
            List<Long> hashes = new ArrayList<>(hot.keySet());
            hashes.sort((a, b) -> Long.compare(hot.get(b), hot.get(a)));
            List<Object> listed = new ArrayList<>();
            for (long hash : hashes.subList(0, Math.min(MOST_LISTED, hashes.size()))) {
                Map<String, Object> key = new LinkedHashMap<>();
                key.put("hash", String.format("%016x", RouteOperator.mixed(hash ^ salt)));
                key.put("share", hot.get(hash) / (double) records);
                key.put("workers", workersOfHot.get(hash));
                listed.add(key);
            }
            split.put("hot", listed);
        }

        /** How far the fullest worker is above its share. */
        private double imbalance() {
            double worst = 0;
            for (int i = 0; i < loads.length; i++) {
                if (expected[i] > 0) {
                    worst = Math.max(worst, loads[i] / expected[i] - 1);
                }
            }
            return worst;
        }
    }
}
