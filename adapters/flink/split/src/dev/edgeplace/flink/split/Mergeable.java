package dev.edgeplace.flink.split;

import org.apache.flink.api.common.functions.AggregateFunction;

/** Tells whether the accumulators of an aggregate can be merged. */
final class Mergeable {
    private static final String CURE =
            ": implement merge(a, b), which Flink asks of session windows, too, or leave the "
                    + "aggregate whole: keyBy(...).window(...).aggregate(...)";

    private Mergeable() {}

    static <A> void check(AggregateFunction<?, A, ?> function) {
        String name = function.getClass().getName();
        A merged;
        try {
            merged = function.merge(function.createAccumulator(), function.createAccumulator());
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(
                    "merge of " + name + " fails on two empty accumulators (" + e + ")" + CURE, e);
        }
        notNull(merged, name);
    }

    static <A> A notNull(A merged, String function) {
        if (merged == null) {
            throw new IllegalArgumentException("merge of " + function + " returns null" + CURE);
        }
        return merged;
    }
}
