package testbed.jobs;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;

/**
 * Every record goes through, and is smaller after each step: {@code images -> compress ->
 * inference -> sink}, about 82 kB, 3.9 kB and 110 bytes. The sizes are those of the image pipeline
 * that CAPSys was measured with; a rule on numbers of records sees nothing to gain here.
 */
public final class ShrinkingPipeline {
    static final int WIDTH = 320;
    static final int HEIGHT = 256;
    static final int SMALL_WIDTH = 64;
    static final int SMALL_HEIGHT = 61;
    static final int HIDDEN = 16;
    static final int CLASSES = 8;

    private ShrinkingPipeline() {}

    public static void main(String[] args) throws Exception {
        HeadlineJob job = new HeadlineJob(args);
        DataStream<Image> images = job.source("images", new Images(), Image.class);
        DataStream<Image> small = job.atSites("compress", images.map(new Compress()));
        job.run("ShrinkingPipeline", job.atSites("inference", small.map(new Inference())));
    }

    public static class Image {
        public long camera;
        public long number;
        public long timeMs;
        public byte[] pixels;
    }

    public static class Scores implements Result {
        public long camera;
        public long number;
        public long timeMs;
        public long[] scores;

        @Override
        public long newestMs() {
            return timeMs;
        }

        @Override
        public String text() {
            StringBuilder text = new StringBuilder().append(camera).append(' ').append(number);
            for (long score : scores) {
                text.append(' ').append(score);
            }
            return text.toString();
        }
    }

    /** Noise. */
    static final class Images implements Recipe<Image> {
        private static final long serialVersionUID = 1L;

        @Override
        public Image make(int site, long number, long timeMs) {
            Image image = new Image();
            image.camera = site;
            image.number = number;
            image.timeMs = timeMs;
            image.pixels = new byte[WIDTH * HEIGHT];
            long noise = Mix.of(site, number) | 1;
            for (int i = 0; i < image.pixels.length; i += Long.BYTES) {
                // One step of xorshift64 (Marsaglia, 2003) makes eight pixels.
                noise ^= noise << 13;
                noise ^= noise >>> 7;
                noise ^= noise << 17;
                for (int pixel = 0; pixel < Long.BYTES; pixel++) {
                    image.pixels[i + pixel] = (byte) (noise >>> (Long.BYTES * pixel));
                }
            }
            return image;
        }
    }

    /** Averages over boxes of pixels. */
    private static final class Compress implements MapFunction<Image, Image> {
        private static final long serialVersionUID = 1L;

        @Override
        public Image map(Image image) {
            int[] sums = new int[SMALL_WIDTH * SMALL_HEIGHT];
            int[] counts = new int[SMALL_WIDTH * SMALL_HEIGHT];
            for (int y = 0; y < HEIGHT; y++) {
                int row = y * SMALL_HEIGHT / HEIGHT * SMALL_WIDTH;
                for (int x = 0; x < WIDTH; x++) {
                    int box = row + x * SMALL_WIDTH / WIDTH;
                    sums[box] += image.pixels[y * WIDTH + x] & 0xff;
                    counts[box]++;
                }
            }
            Image small = new Image();
            small.camera = image.camera;
            small.number = image.number;
            small.timeMs = image.timeMs;
            small.pixels = new byte[sums.length];
            for (int box = 0; box < sums.length; box++) {
                small.pixels[box] = (byte) (sums[box] / counts[box]);
            }
            return small;
        }
    }

    /** A small network with one hidden layer and fixed weights. */
    private static final class Inference implements MapFunction<Image, Scores> {
        private static final long serialVersionUID = 1L;
        private static final byte[][] TO_HIDDEN = weights(HIDDEN, SMALL_WIDTH * SMALL_HEIGHT);
        private static final byte[][] TO_CLASS = weights(CLASSES, HIDDEN);

        private static byte[][] weights(int outputs, int inputs) {
            byte[][] weights = new byte[outputs][inputs];
            for (int output = 0; output < outputs; output++) {
                for (int input = 0; input < inputs; input++) {
                    weights[output][input] = weight(output, input);
                }
            }
            return weights;
        }

        @Override
        public Scores map(Image small) {
            long[] hidden = new long[HIDDEN];
            for (int h = 0; h < HIDDEN; h++) {
                byte[] weights = TO_HIDDEN[h];
                int sum = 0;
                for (int i = 0; i < weights.length; i++) {
                    sum += weights[i] * (small.pixels[i] & 0xff);
                }
                hidden[h] = Math.max(sum, 0);
            }
            Scores scores = new Scores();
            scores.camera = small.camera;
            scores.number = small.number;
            scores.timeMs = small.timeMs;
            scores.scores = new long[CLASSES];
            for (int c = 0; c < CLASSES; c++) {
                for (int h = 0; h < HIDDEN; h++) {
                    scores.scores[c] += TO_CLASS[c][h] * hidden[h];
                }
            }
            return scores;
        }
    }

    /** A weight of the network, from -8 to 7. */
    static byte weight(int output, int input) {
        return (byte) (Mix.below(16, Mix.of(output, input)) - 8);
    }
}
