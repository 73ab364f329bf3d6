package dev.edgeplace.flink.split;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Where each record goes, so that every worker has its share of the load and few keys are at many.
 *
 * <p>A slide is a second, and loads are counted from its beginning. The level is the load per weight
 * if all had their shares. A worker is full if it is ahead of the level by 5 % of a slide's.
 *
 * <p>A frequent key has a set of workers, and its record goes to the least loaded of them; if that
 * one is full, the least loaded of all joins the set. So sets grow to what the load needs (bounded
 * loads: Mirrokni, Thorup and Zadimoghaddam, SODA 2018). At the end of a slide they shrink to a
 * {@link Forest}, with which the next one begins.
 *
 * <p>A rare key goes to the worker that a hash says, weighted. If that is 7 % ahead, the key passes
 * to the first one of further hashes that is not full, and stays there. One that came in this slide
 * or in the one before passes only a worker that is 10 % ahead, as it would be at two workers.
 */
final class Rule {
    /** A key of more than this part of a worker's share is frequent. */
    private static final int KEYS_PER_WORKER = 20;
    /** So far a worker may be ahead of the level, as a part of a slide's: of each kind of key. */
    private static final double AHEAD = 0.05;
    private static final double AHEAD_RARE = 0.07;
    private static final double AHEAD_RARE_AGAIN = 0.10;
    private static final long FEWEST_RECORDS = 1000;
    private static final int FEWEST_OF_FREQUENT = 8;
    private static final int MOST_FREQUENT = 1 << 16;
    private static final int MOST_LISTED = 10;

    private final int workers;
    private final FrequentKeys keys;
    private final RareKeys rare;
    private final long[] loads;
    private final double[] upTo;
    private final double[] perWeight;
    private double[] weights;
    private double sum;
    private long records;
    private long expected;
    private double threshold;

    Rule(int workers) {
        this.workers = workers;
        keys = new FrequentKeys(Math.min(MOST_FREQUENT, 4 * KEYS_PER_WORKER * workers));
        rare = new RareKeys(workers);
        loads = new long[workers];
        upTo = new double[workers];
        perWeight = new double[workers];
        double[] even = new double[workers];
        Arrays.fill(even, 1.0);
        use(even);
        expect(FEWEST_RECORDS);
    }

    int workers() {
        return workers;
    }

    /** Takes other weights, of all workers: none is negative, and one is positive. */
    void use(double[] others) {
        weights = others.clone();
        sum = 0;
        for (int worker = 0; worker < workers; worker++) {
            sum += weights[worker];
            upTo[worker] = sum;
            perWeight[worker] = weights[worker] > 0 ? 1 / weights[worker] : Double.POSITIVE_INFINITY;
        }
    }

    /** Returns the worker of a record with a key of this hash, whose bits are well mixed. */
    int route(long hash) {
        records++;
        int slot = keys.add(hash);
        boolean isFrequent =
                slot >= 0 && (keys.workers(slot) != null || keys.count(slot) >= threshold);
        int worker = isFrequent ? ofFrequent(slot, hash) : ofRare(hash);
        loads[worker]++;
        return worker;
    }

    /** Ends a slide and returns what happened in it. */
    Slide end() {
        Slide ended = new Slide();
        ended.records = records;
        ended.loads = loads.clone();
        ended.weights = weights.clone();
        List<Slide.Frequent> frequent = new ArrayList<>();
        Forest forest = new Forest(workers);
        for (int slot = 0; slot < keys.slots(); slot++) {
            KeyWorkers its = keys.workers(slot);
            if (its == null) {
                continue;
            }
            int inUse = its.inUse();
            if (inUse > 0) {
                frequent.add(new Slide.Frequent(keys.hash(slot), keys.count(slot), inUse));
                ended.frequentRecords += keys.count(slot);
                ended.pieces += inUse;
            }
            if (keys.count(slot) < threshold / 2) {
                keys.give(slot, null);
            } else {
                forest.add(keys.hash(slot), its);
                its.restart();
            }
        }
        forest.prune();
        ended.frequentKeys = frequent.size();
        frequent.sort(Comparator.comparingLong((Slide.Frequent each) -> -each.records));
        ended.most = new ArrayList<>(frequent.subList(0, Math.min(MOST_LISTED, frequent.size())));
        keys.restart();
        rare.end();
        Arrays.fill(loads, 0);
        expect(Math.max(FEWEST_RECORDS, records));
        records = 0;
        return ended;
    }

    private void expect(long perSlide) {
        expected = perSlide;
        threshold = Math.max(FEWEST_OF_FREQUENT, perSlide / (double) (KEYS_PER_WORKER * workers));
    }

    private int ofRare(long hash) {
        int worker = usual(hash);
        double ahead = rare.cameBefore(hash) ? AHEAD_RARE_AGAIN : AHEAD_RARE;
        if (loadOf(worker) <= most(ahead)) {
            return worker;
        }
        double most = most(AHEAD);
        long next = hash;
        int tries = 0;
        do {
            next = RouteOperator.mixed(next);
            worker = byHash(next);
            tries++;
        } while (tries < workers && loadOf(worker) > most);
        if (loadOf(worker) > most) {
            worker = leastLoaded();
        }
        rare.pass(hash, worker);
        return worker;
    }

    /** Returns the worker of a rare key as long as that is not full. */
    private int usual(long hash) {
        int passedTo = rare.worker(hash);
        return passedTo >= 0 && weights[passedTo] > 0 ? passedTo : byHash(hash);
    }

    private int byHash(long hash) {
        double mark = (hash >>> 11) * 0x1p-53 * sum;
        int low = 0;
        int high = workers - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (mark < upTo[middle]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    private int ofFrequent(int slot, long hash) {
        KeyWorkers its = keys.workers(slot);
        if (its == null) {
            its = new KeyWorkers();
            keys.give(slot, its);
        }
        int best = -1;
        for (int place = 0; place < its.size(); place++) {
            int worker = its.worker(place);
            if (weights[worker] > 0) {
                best = lessLoaded(worker, best);
            }
        }
        if (best < 0) {
            best = usual(hash);
        }
        if (loadOf(best) > most(AHEAD)) {
            best = leastLoaded();
        }
        its.count(its.placeOf(best));
        return best;
    }

    private int leastLoaded() {
        int least = -1;
        for (int worker = 0; worker < workers; worker++) {
            if (weights[worker] > 0) {
                least = lessLoaded(worker, least);
            }
        }
        return least;
    }

    private int lessLoaded(int worker, int other) {
        return other < 0 || loadOf(worker) < loadOf(other) ? worker : other;
    }

    /** The load from which on a worker is ahead of the level by a part of a slide's. */
    private double most(double ahead) {
        return (records + ahead * Math.max(records, expected)) / sum;
    }

    private double loadOf(int worker) {
        return loads[worker] * perWeight[worker];
    }
}
