package testbed.jobs;

import java.io.Serializable;

/** What the queries on stations know beforehand, and their sketches. */
final class RiotTables {
    private static final String[] DISTRICTS = {
        "harbour", "old town", "station", "park", "hill", "fair", "river bank"
    };

    private RiotTables() {}

    /** Where a station is. */
    static String district(long station) {
        return DISTRICTS[(int) (station % DISTRICTS.length)];
    }

    /** Whether a station is in service: every eleventh is not. */
    static boolean inService(long station) {
        return station % 11 != 10;
    }

    /** The stations in service, in a filter (Bloom, 1970) that also lets a few others pass. */
    static final class Bloom implements Serializable {
        private static final long serialVersionUID = 1L;
        private static final int BITS = 512;
        private static final int HASHES = 3;

        private final long[] bits = new long[BITS / Long.SIZE];

        /** Knows the first so many stations. */
        Bloom(int stations) {
            for (long station = 0; station < stations; station++) {
                for (int hash = 0; hash < HASHES && inService(station); hash++) {
                    int bit = bit(station, hash);
                    bits[bit / Long.SIZE] |= 1L << bit;
                }
            }
        }

        boolean mayKnow(long station) {
            for (int hash = 0; hash < HASHES; hash++) {
                int bit = bit(station, hash);
                if ((bits[bit / Long.SIZE] & 1L << bit) == 0) {
                    return false;
                }
            }
            return true;
        }

        private static int bit(long station, int hash) {
            return Mix.below(BITS, Mix.mix(Mix.mix(station) + hash));
        }
    }

    /**
     * The second moment of values: the sum of the squares of how often each came. Each counter adds 1
     * for half of the values and subtracts it for the others; the mean of their squares is the
     * estimate (Alon, Matias and Szegedy, 1996).
     */
    static final class Moment {
        static final int COUNTERS = 16;

        private Moment() {}

        static void add(long value, long[] counters) {
            for (int i = 0; i < COUNTERS; i++) {
                counters[i] += Mix.mix(value * COUNTERS + i) < 0 ? -1 : 1;
            }
        }

        static long estimate(long[] counters) {
            long sum = 0;
            for (long counter : counters) {
                sum += counter * counter;
            }
            return sum / COUNTERS;
        }
    }

    /**
     * About how many distinct values there are: each one sets a bit, and few zeros mean many values
     * (linear counting; Whang, Vander-Zanden and Taylor, 1990).
     */
    static final class Distinct {
        static final int BITS = 1024;
        static final int WORDS = BITS / Long.SIZE;

        private Distinct() {}

        /** Adds a value and says whether it has set a bit. */
        static boolean add(long value, long[] bits) {
            int bit = Mix.below(BITS, Mix.mix(value));
            boolean isNew = (bits[bit / Long.SIZE] & 1L << bit) == 0;
            bits[bit / Long.SIZE] |= 1L << bit;
            return isNew;
        }

        static long estimate(long[] bits) {
            int ones = 0;
            for (long word : bits) {
                ones += Long.bitCount(word);
            }
            // One zero at least: with none, there might be any number of values.
            return Math.round(-BITS * StrictMath.log(Math.max(1, BITS - ones) / (double) BITS));
        }
    }

    /** The line that fits the last values best, by least squares over 0, 1, 2 and so on. */
    static final class Line {
        private Line() {}

        /** What the line says for the place behind the last value, rounded down. */
        static long next(long[] values) {
            long n = values.length;
            long sumX = n * (n - 1) / 2;
            long sumXx = n * (n - 1) * (2 * n - 1) / 6;
            long sumY = 0;
            long sumXy = 0;
            for (int x = 0; x < n; x++) {
                sumY += values[x];
                sumXy += x * values[x];
            }
            long spread = n * sumXx - sumX * sumX;
            long slope = n * sumXy - sumX * sumY;
            // (sumY - slope / spread * sumX) / n + slope / spread * n, over one denominator.
            return Math.floorDiv(sumY * spread - slope * sumX + slope * n * n, n * spread);
        }
    }
}
