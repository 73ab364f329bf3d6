package testbed.jobs;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How many records are offered by a time, if their rate follows a curve.
 *
 * <p>The text of a curve is CSV: the header {@code seconds,rate}, then a line for each point. Between
 * two points the rate is a straight line; two points at one time are a jump. The first rate holds
 * before the first point, the last one after the last point.
 */
final class Curve implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final String HEADER = "seconds,rate";

    private final double[] seconds;
    private final double[] rates;
    /** Records offered until each point. */
    private final double[] offered;

    private Curve(double[] seconds, double[] rates) {
        this.seconds = seconds;
        this.rates = rates;
        offered = new double[seconds.length];
        offered[0] = rates[0] * seconds[0];
        for (int i = 1; i < seconds.length; i++) {
            double mean = (rates[i - 1] + rates[i]) / 2;
            offered[i] = offered[i - 1] + mean * (seconds[i] - seconds[i - 1]);
        }
    }

    /** Whether a text is a curve and not a rate. */
    static boolean isCurve(String text) {
        return text.startsWith(HEADER);
    }

    static Curve read(Path file) throws IOException {
        return of(Files.readString(file).strip(), file.toString());
    }

    /**
     * Reads the text of a curve.
     *
     * @param where for errors
     */
    static Curve of(String text, String where) {
        String[] lines = text.split("\\R");
        if (!lines[0].strip().equals(HEADER) || lines.length < 2) {
            throw new IllegalArgumentException(
                    where + ": a curve has the header " + HEADER + " and at least one point");
        }
        double[] seconds = new double[lines.length - 1];
        double[] rates = new double[lines.length - 1];
        for (int i = 0; i < seconds.length; i++) {
            String line = lines[i + 1].strip();
            String[] words = line.split(",");
            try {
                seconds[i] = Double.parseDouble(words[0]);
                rates[i] = Double.parseDouble(words[1]);
            } catch (NumberFormatException | ArrayIndexOutOfBoundsException error) {
                seconds[i] = Double.NaN;
            }
            boolean isNumber = seconds[i] >= 0 && rates[i] >= 0 && words.length == 2;
            if (!isNumber || Double.isInfinite(seconds[i] + rates[i])) {
                throw new IllegalArgumentException(
                        where + ", line " + (i + 2)
                                + ": a point is a time and a rate, not \"" + line + "\"");
            }
            if (i > 0 && seconds[i] < seconds[i - 1]) {
                throw new IllegalArgumentException(
                        where + ", line " + (i + 2) + ": the times go back");
            }
        }
        return new Curve(seconds, rates);
    }

    /** The rate at a time, in records per second. */
    double rate(double atSeconds) {
        int next = next(atSeconds);
        if (next == 0 || next == seconds.length) {
            return rates[Math.max(0, next - 1)];
        }
        double share = (atSeconds - seconds[next - 1]) / (seconds[next] - seconds[next - 1]);
        return rates[next - 1] + share * (rates[next] - rates[next - 1]);
    }

    /** The records offered from second 0 until a time. */
    double until(double atSeconds) {
        int next = next(atSeconds);
        if (next == 0) {
            return rates[0] * atSeconds;
        }
        double mean = (rates[next - 1] + rate(atSeconds)) / 2;
        return offered[next - 1] + mean * (atSeconds - seconds[next - 1]);
    }

    /** The first time by which so many records are offered; infinite if they never are. */
    double secondsUntil(double records) {
        int next = 0;
        while (next < seconds.length && offered[next] < records) {
            next++;
        }
        if (next == 0) {
            return rates[0] > 0 ? records / rates[0] : 0;
        }
        double left = records - offered[next - 1];
        double rate = rates[next - 1];
        if (next == seconds.length) {
            return seconds[next - 1] + left / rate;
        }
        double slope = (rates[next] - rate) / (seconds[next] - seconds[next - 1]);
        // The smaller root of left = rate t + slope t^2 / 2, in the form that no slope makes 0/0.
        double root = Math.sqrt(Math.max(0, rate * rate + 2 * slope * left));
        return seconds[next - 1] + 2 * left / (rate + root);
    }

    /** The number of points at or before a time. */
    private int next(double atSeconds) {
        int next = 0;
        while (next < seconds.length && seconds[next] <= atSeconds) {
            next++;
        }
        return next;
    }
}
