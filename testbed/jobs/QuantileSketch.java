package testbed.jobs;

import java.util.Arrays;

/**
 * A merging t-digest with the scale function k1, from the description by Dunning and Ertl
 * ("Computing extremely accurate quantiles using t-digests", 2019).
 *
 * <p>Neighbouring values are held as a centroid: their mean and number. With k(q) = d / (2 pi)
 * asin(2q - 1), no centroid is wider than 1 on the scale of k, so that those near the ends are
 * small. Near the median one holds at most a share of pi / d of all values, and a quantile read
 * there is off by at most half of that in rank.
 */
public class QuantileSketch {
    /** d: at most so many centroids, and at least about half as many. */
    static final double COMPRESSION = 100;

    private static final int BUFFER = 512;

    public double[] means = {};
    public long[] weights = {};
    public double min = Double.POSITIVE_INFINITY;
    public double max = Double.NEGATIVE_INFINITY;

    private transient double[] buffer;
    private transient int buffered;

    void add(double value) {
        if (buffer == null) {
            buffer = new double[BUFFER];
        }
        buffer[buffered++] = value;
        if (buffered == BUFFER) {
            settle();
        }
    }

    /** Adds all that another sketch holds, which stays as it is but for being settled. */
    void merge(QuantileSketch other) {
        settle();
        other.settle();
        min = Math.min(min, other.min);
        max = Math.max(max, other.max);
        absorb(other.means, other.weights);
    }

    /** Brings values just added into the public fields, which alone are serialised. */
    void settle() {
        if (buffered == 0) {
            return;
        }
        double[] values = Arrays.copyOf(buffer, buffered);
        buffered = 0;
        Arrays.sort(values);
        min = Math.min(min, values[0]);
        max = Math.max(max, values[values.length - 1]);
        long[] ones = new long[values.length];
        Arrays.fill(ones, 1);
        absorb(values, ones);
    }

    long count() {
        settle();
        long count = 0;
        for (long weight : weights) {
            count += weight;
        }
        return count;
    }

    /** The value below which a share q of all values lies, not a number if there is none. */
    double quantile(double q) {
        double rank = q * count();
        if (means.length == 0) {
            return Double.NaN;
        }
        // Half of a centroid's values are taken to lie on each side of its mean.
        double leftRank = 0;
        double left = min;
        double before = 0;
        for (int i = 0; i < means.length; i++) {
            double middle = before + weights[i] / 2.0;
            if (rank < middle) {
                return between(left, means[i], (rank - leftRank) / (middle - leftRank));
            }
            leftRank = middle;
            left = means[i];
            before += weights[i];
        }
        return between(left, max, (rank - leftRank) / (before - leftRank));
    }

    private static double between(double left, double right, double share) {
        return left + (right - left) * share;
    }

    /** Merges another list of centroids, sorted by mean as the own one is. */
    private void absorb(double[] otherMeans, long[] otherWeights) {
        int all = means.length + otherMeans.length;
        if (otherMeans.length == 0) {
            return;
        }
        double[] sortedMeans = new double[all];
        long[] sortedWeights = new long[all];
        double total = 0;
        for (int at = 0, own = 0, other = 0; at < all; at++) {
            boolean takeOwn =
                    other == otherMeans.length
                            || own < means.length && means[own] <= otherMeans[other];
            sortedMeans[at] = takeOwn ? means[own] : otherMeans[other];
            sortedWeights[at] = takeOwn ? weights[own++] : otherWeights[other++];
            total += sortedWeights[at];
        }
        int last = 0;
        double before = 0;
        double limit = total * widest(0);
        for (int at = 1; at < all; at++) {
            long together = sortedWeights[last] + sortedWeights[at];
            if (before + together <= limit) {
                sortedWeights[last] = together;
                sortedMeans[last] +=
                        (sortedMeans[at] - sortedMeans[last]) * sortedWeights[at] / together;
                continue;
            }
            before += sortedWeights[last];
            limit = total * widest(before / total);
            last++;
            sortedMeans[last] = sortedMeans[at];
            sortedWeights[last] = sortedWeights[at];
        }
        means = Arrays.copyOf(sortedMeans, last + 1);
        weights = Arrays.copyOf(sortedWeights, last + 1);
    }

    /** Where a centroid that begins at q may end at the most: one further on the scale of k. */
    private static double widest(double q) {
        double angle = Math.asin(2 * q - 1) + 2 * Math.PI / COMPRESSION;
        return angle >= Math.PI / 2 ? 1 : (Math.sin(angle) + 1) / 2;
    }
}
