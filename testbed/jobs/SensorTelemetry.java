package testbed.jobs;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.operators.SlotSharingGroup;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Camera telemetry: frames are decoded, thinned out, reduced to a few numbers and aggregated per
 * sensor. Chaining is off and every operator has its own slot sharing group, so that each operator
 * is a job vertex with its own metrics and each subtask takes a slot of its own. The sources run
 * only on TaskManagers that offer the external resource "edge".
 *
 * <p>The only argument is the number of frames per second of one source subtask.
 */
public final class SensorTelemetry {
    private static final int WIDTH = 50;
    private static final int HEIGHT = 40;
    private static final int PIXELS = WIDTH * HEIGHT;
    private static final int SENSORS = 300;
    private static final int BANDS = 12;
    private static final int CAMERAS = 4;

    private SensorTelemetry() {}

    public static void main(String[] args) throws Exception {
        double framesPerSecond = Double.parseDouble(args[0]);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();

        // A FLIP-27 source: the older SourceFunction reports its busy time as NaN.
        DataGeneratorSource<Frame> cameras =
                new DataGeneratorSource<>(
                        new FrameGenerator(),
                        Long.MAX_VALUE,
                        RateLimiterStrategy.perSecond(CAMERAS * framesPerSecond),
                        TypeInformation.of(Frame.class));

        DataStream<Frame> kept =
                env.fromSource(cameras, WatermarkStrategy.noWatermarks(), "sensors")
                        .setParallelism(CAMERAS)
                        .slotSharingGroup(slots("sensors").setExternalResource("edge", 1).build())
                        .map(new Decode())
                        .name("decode")
                        .setParallelism(CAMERAS)
                        .slotSharingGroup(slots("decode").build())
                        .filter(new Keep())
                        .name("filter")
                        .setParallelism(CAMERAS)
                        .slotSharingGroup(slots("filter").build());

        kept.map(new Features())
                .name("features")
                .setParallelism(CAMERAS)
                .slotSharingGroup(slots("features").build())
                .keyBy(bands -> bands.sensor)
                .window(TumblingProcessingTimeWindows.of(Duration.ofSeconds(5)))
                .aggregate(new Summarise(), new AgainstBaseline())
                .name("window")
                .setParallelism(2)
                .slotSharingGroup(slots("window").setManagedMemoryMB(15).build())
                .sinkTo(new DiscardingSink<>())
                .name("sink")
                .setParallelism(1)
                .slotSharingGroup(slots("sink").build());

        env.execute("sensor telemetry");
    }

    /**
     * A group whose slots are as large as the testbed's usual ones: one processor core each, as
     * Flink counts them, and no more memory than an even share. Every group says its size, since
     * Flink also gives slots of a known size to groups of an unknown one, and may then never start
     * the job.
     */
    private static SlotSharingGroup.Builder slots(String name) {
        return SlotSharingGroup.newBuilder(name)
                .setCpuCores(1)
                .setTaskHeapMemoryMB(32);
    }

    /** One grey-scale picture, difference-coded as it leaves the sensor, plain once decoded. */
    public static class Frame {
        public int sensor;
        public long sequence;
        public int checksum;
        public byte[] pixels;
    }

    /** What is left of a frame: the energy in a few spatial frequency bands. */
    public static class Bands {
        public int sensor;
        public double[] energy;
    }

    /** Sums over the frames of one sensor in one window. */
    public static class Summary {
        public int sensor;
        public long frames;
        public double[] sum = new double[BANDS];
        public double[] squares = new double[BANDS];
    }

    /** A sensor's long-run mean and deviation per band; lives across windows. */
    public static class Baseline {
        public long windows;
        public double[] mean = new double[BANDS];
        public double[] deviation = new double[BANDS];
    }

    /** One aggregate per sensor and window. */
    public static class Report {
        public int sensor;
        public long frames;
        public double distance;
    }

    /** Makes the frame of an index, the same one at every replay. */
    private static final class FrameGenerator implements GeneratorFunction<Long, Frame> {
        @Override
        public Frame map(Long index) {
            Frame frame = new Frame();
            frame.sensor = Math.floorMod(mix(index), SENSORS);
            frame.sequence = index;
            frame.pixels = new byte[PIXELS];
            long noise = mix(index + 1);
            for (int i = 0; i < PIXELS; i++) {
                noise ^= noise << 13;
                noise ^= noise >>> 7;
                noise ^= noise << 17;
                frame.pixels[i] = (byte) noise;
            }
            frame.checksum = crc(frame.pixels);
            return frame;
        }
    }

    /** Verifies the checksum, undoes the difference coding, removes noise by a 5x5 median. */
    private static final class Decode implements MapFunction<Frame, Frame> {
        @Override
        public Frame map(Frame raw) {
            if (crc(raw.pixels) != raw.checksum) {
                throw new IllegalStateException("frame " + raw.sequence + " is damaged");
            }
            byte[] plain = new byte[PIXELS];
            byte level = 0;
            for (int i = 0; i < PIXELS; i++) {
                level += raw.pixels[i];
                plain[i] = level;
            }
            Frame frame = new Frame();
            frame.sensor = raw.sensor;
            frame.sequence = raw.sequence;
            frame.checksum = raw.checksum;
            frame.pixels = median(plain);
            return frame;
        }

        private static byte[] median(byte[] plain) {
            byte[] smooth = plain.clone();
            int[] around = new int[25];
            for (int y = 2; y < HEIGHT - 2; y++) {
                for (int x = 2; x < WIDTH - 2; x++) {
                    int n = 0;
                    for (int dy = -2; dy <= 2; dy++) {
                        for (int dx = -2; dx <= 2; dx++) {
                            int value = plain[(y + dy) * WIDTH + x + dx] & 0xff;
                            int slot = n++;
                            while (slot > 0 && around[slot - 1] > value) {
                                around[slot] = around[slot - 1];
                                slot--;
                            }
                            around[slot] = value;
                        }
                    }
                    smooth[y * WIDTH + x] = (byte) around[12];
                }
            }
            return smooth;
        }
    }

    /** Keeps three frames of ten, chosen by a hash of what the picture looks like. */
    private static final class Keep implements FilterFunction<Frame> {
        private static final int SIDE = 8;

        @Override
        public boolean filter(Frame frame) {
            double[] coefficients = Cosines.transform(frame.pixels, SIDE);
            long hash = frame.sequence;
            for (double coefficient : coefficients) {
                hash = 31 * hash + (coefficient > 0 ? 1 : 0);
            }
            return Math.floorMod(mix(hash), 10) < 3;
        }
    }

    /** Shrinks a frame to the energy in bands of its two-dimensional cosine transform. */
    private static final class Features implements MapFunction<Frame, Bands> {
        private static final int SIDE = 16;

        @Override
        public Bands map(Frame frame) {
            double[] coefficients = Cosines.transform(frame.pixels, SIDE);
            Bands bands = new Bands();
            bands.sensor = frame.sensor;
            bands.energy = new double[BANDS];
            for (int v = 0; v < SIDE; v++) {
                for (int u = 0; u < SIDE; u++) {
                    int band = (u + v) * BANDS / (2 * SIDE);
                    double value = coefficients[v * SIDE + u];
                    bands.energy[band] += value * value;
                }
            }
            return bands;
        }
    }

    /** The low-frequency corner of a picture's discrete cosine transform. */
    private static final class Cosines {
        private static final double[][] ALONG_X = table(WIDTH);
        private static final double[][] ALONG_Y = table(HEIGHT);

        private static double[][] table(int length) {
            double[][] table = new double[length][length];
            for (int k = 0; k < length; k++) {
                for (int i = 0; i < length; i++) {
                    table[k][i] = Math.cos(Math.PI * (i + 0.5) * k / length);
                }
            }
            return table;
        }

        /** Computed straight from the definition: the job is here to keep a processor busy. */
        static double[] transform(byte[] pixels, int side) {
            double[] coefficients = new double[side * side];
            for (int v = 0; v < side; v++) {
                for (int u = 0; u < side; u++) {
                    double sum = 0;
                    for (int y = 0; y < HEIGHT; y++) {
                        double row = 0;
                        for (int x = 0; x < WIDTH; x++) {
                            row += (pixels[y * WIDTH + x] & 0xff) * ALONG_X[u][x];
                        }
                        sum += row * ALONG_Y[v][y];
                    }
                    coefficients[v * side + u] = sum;
                }
            }
            return coefficients;
        }
    }

    private static final class Summarise implements AggregateFunction<Bands, Summary, Summary> {
        @Override
        public Summary createAccumulator() {
            return new Summary();
        }

        @Override
        public Summary add(Bands bands, Summary summary) {
            summary.sensor = bands.sensor;
            summary.frames++;
            for (int i = 0; i < BANDS; i++) {
                summary.sum[i] += bands.energy[i];
                summary.squares[i] += bands.energy[i] * bands.energy[i];
            }
            return summary;
        }

        @Override
        public Summary getResult(Summary summary) {
            return summary;
        }

        @Override
        public Summary merge(Summary left, Summary right) {
            left.frames += right.frames;
            for (int i = 0; i < BANDS; i++) {
                left.sum[i] += right.sum[i];
                left.squares[i] += right.squares[i];
            }
            return left;
        }
    }

    /** Compares a window with the sensor's own history, which is why state outlives the window. */
    private static final class AgainstBaseline
            extends ProcessWindowFunction<Summary, Report, Integer, TimeWindow> {
        private transient ValueStateDescriptor<Baseline> descriptor;

        @Override
        public void open(OpenContext context) {
            descriptor = new ValueStateDescriptor<>("baseline", Baseline.class);
        }

        @Override
        public void process(
                Integer sensor, Context context, Iterable<Summary> windows, Collector<Report> out)
                throws Exception {
            ValueState<Baseline> state = context.globalState().getState(descriptor);
            Baseline baseline = state.value() == null ? new Baseline() : state.value();
            Summary summary = windows.iterator().next();
            baseline.windows++;
            double distance = 0;
            for (int i = 0; i < BANDS; i++) {
                double mean = summary.sum[i] / summary.frames;
                double step = mean - baseline.mean[i];
                baseline.mean[i] += step / baseline.windows;
                double size = Math.abs(step);
                baseline.deviation[i] += (size - baseline.deviation[i]) / baseline.windows;
                distance += size / (1 + baseline.deviation[i]);
            }
            state.update(baseline);

            Report report = new Report();
            report.sensor = sensor;
            report.frames = summary.frames;
            report.distance = distance;
            out.collect(report);
        }
    }

    /** The finaliser of SplitMix64. */
    private static long mix(long value) {
        long z = value + 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    /** CRC-32 bit by bit, as a board without a table or an instruction for it does it. */
    private static int crc(byte[] bytes) {
        int crc = -1;
        for (byte b : bytes) {
            crc ^= b & 0xff;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc >>> 1 ^ (0xedb88320 & -(crc & 1));
            }
        }
        return ~crc;
    }
}
