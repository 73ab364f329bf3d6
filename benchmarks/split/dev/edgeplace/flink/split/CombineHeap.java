package dev.edgeplace.flink.split;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * Bytes of heap that a combining subtask keeps while a million keys pass, each with two records.
 *
 * <p>Combine is chained to its source and to a sink that keeps nothing, in a local Flink. Now and
 * then, before a record, the heap is collected and measured; what counts is the most of it, beyond
 * what was used before the first record. Prints {@code accumulator mostKeys bytes} for each case.
 */
public final class CombineHeap {
    private static final int KEYS = 1_000_000;
    private static final long RECORDS = 2L * KEYS;
    private static final int MEASUREMENTS = 40;
    private static final int DEFAULT_MOST_KEYS = 100_000;
    private static final int SKETCH_BYTES = 1024;
    private static final long NEVER_MS = 0;

    private CombineHeap() {}

    public static void main(String[] arguments) throws Exception {
        System.out.printf("count %d %d%n", DEFAULT_MOST_KEYS, bytes(Long.BYTES, DEFAULT_MOST_KEYS));
        System.out.printf("count %d %d%n", KEYS + 1, bytes(Long.BYTES, KEYS + 1));
        System.out.printf(
                "sketch %d %d%n", DEFAULT_MOST_KEYS, bytes(SKETCH_BYTES, DEFAULT_MOST_KEYS));
    }

    private static long bytes(int accumulatorBytes, int mostKeys) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        Measure.first = -1;
        Measure.most = 0;
        TypeInformation<byte[]> accumulator = TypeInformation.of(byte[].class);
        env.fromSequence(0, RECORDS - 1)
                .map(new Measure())
                .transform(
                        "combine",
                        new TupleTypeInfo<>(Types.LONG, accumulator),
                        new CombineFactory<>(
                                key -> key,
                                LongSerializer.INSTANCE,
                                new Counts(accumulatorBytes),
                                Panes.ONE,
                                mostKeys,
                                NEVER_MS))
                .sinkTo(new DiscardingSink<>());
        env.execute();
        return Measure.most - Measure.first;
    }

    /** Turns a number into its key, and looks at the heap. */
    private static final class Measure implements MapFunction<Long, Long> {
        private static final long serialVersionUID = 1L;
        private static final long STEP = RECORDS / MEASUREMENTS;
        private static volatile long first;
        private static volatile long most;

        @Override
        public Long map(Long number) {
            if (number == 0) {
                first = used();
            }
            // Among others just before a full map is sent, which is at the first record of a key.
            if ((number + 3) % STEP == 0) {
                most = Math.max(most, used());
            }
            return number / 2;
        }

        private static long used() {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            return runtime.totalMemory() - runtime.freeMemory();
        }
    }

    /** A count in the first bytes of an array. */
    private static final class Counts implements AggregateFunction<Long, byte[], byte[]> {
        private static final long serialVersionUID = 1L;
        private final int bytes;

        Counts(int bytes) {
            this.bytes = bytes;
        }

        @Override
        public byte[] createAccumulator() {
            return new byte[bytes];
        }

        @Override
        public byte[] add(Long key, byte[] accumulator) {
            accumulator[0]++;
            return accumulator;
        }

        @Override
        public byte[] getResult(byte[] accumulator) {
            return accumulator;
        }

        @Override
        public byte[] merge(byte[] a, byte[] b) {
            a[0] += b[0];
            return a;
        }
    }
}
