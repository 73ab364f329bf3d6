package testbed.jobs;

/** Numbers that look random and are pure functions of their input. */
final class Mix {
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private Mix() {}

    /** The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
    static long mix(long state) {
        long z = state + GOLDEN;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** The number of a record of a site. */
    static long of(int site, long number) {
        return mix(mix(site) + number);
    }

    /** A number from 0 to {@code bound - 1}. */
    static int below(int bound, long mixed) {
        return (int) (((mixed >>> 32) * bound) >>> 32);
    }

    /** A number from 0 to less than 1. */
    static double unit(long mixed) {
        return (mixed >>> 11) * 0x1p-53;
    }

    /** A hash of a text, fit for sums that do not depend on the order of the texts. */
    static long of(String text) {
        long hash = text.length();
        for (int i = 0; i < text.length(); i++) {
            hash = mix(hash ^ text.charAt(i));
        }
        return hash;
    }
}
