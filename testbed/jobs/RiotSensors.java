package testbed.jobs;

/**
 * Messages of a city's weather stations, as text of a fixed length: a station's number, the number of
 * the message, its time, and five measurements in thousandths. One measurement in fifty is far out of
 * its range.
 */
final class RiotSensors {
    static final int STATIONS_OF_A_SITE = 20;
    static final int FIELDS = 5;
    /** What each field may be at least and at most. */
    static final long[] LEAST = {-20_000, 0, 0, 0, 0};

    static final long[] MOST = {50_000, 100_000, 80_000, 500_000, 120_000};
    static final int MESSAGE_BYTES = 380;
    // The time and the length of the text. Measured, and checked by a test.
    private static final int BYTES_BESIDE_TEXT = 26;
    private static final double OUTLIERS = 0.02;
    private static final long FAR = 1_000_000;
    // Measurements go up and down within so many messages of a station.
    private static final int PERIOD = 96;

    private RiotSensors() {}

    public static class Message {
        public String text;
        public long timeMs;
    }

    /** A message that has been parsed; a bit in {@code missing} for each field without a value. */
    public static class Measured {
        public long station;
        public long number;
        public long timeMs;
        public int missing;
        public long[] values;
    }

    static final class Messages implements Recipe<Message> {
        private static final long serialVersionUID = 1L;

        private final int textLength;

        Messages(int messageBytes) {
            textLength = messageBytes - BYTES_BESIDE_TEXT;
        }

        @Override
        public Message make(int site, long number, long timeMs) {
            long station = (long) site * STATIONS_OF_A_SITE + number % STATIONS_OF_A_SITE;
            long of = number / STATIONS_OF_A_SITE;
            StringBuilder text = new StringBuilder(textLength);
            text.append(station).append(',').append(of).append(',').append(timeMs);
            long dice = Mix.of(site, number);
            for (int field = 0; field < FIELDS; field++) {
                dice = Mix.mix(dice);
                text.append(',').append(value(station, of, field, dice));
            }
            text.append(',');
            while (text.length() < textLength) {
                text.append('.');
            }
            Message message = new Message();
            message.text = text.toString();
            message.timeMs = timeMs;
            return message;
        }

        private static long value(long station, long number, int field, long dice) {
            if (Mix.unit(dice) < OUTLIERS) {
                return MOST[field] + FAR;
            }
            long width = MOST[field] - LEAST[field];
            long phase = (number + station * 7 + field * 19) % PERIOD;
            long height = Math.min(phase, PERIOD - phase);
            long noise = Mix.below((int) (width / 20), Mix.mix(dice));
            return LEAST[field] + width / 5 + width * height / PERIOD + noise;
        }
    }
}
