package testbed.jobs;

/**
 * Sensors of one site in turn, each of which numbers its messages: what {@link Readings} counts.
 *
 * <p>Arguments, each {@code key=value}: {@code site}, in the names of its sensors; {@code sensors},
 * default 4; {@code records} of each; {@code per-second} of all, default 200, and {@code rate-file},
 * see {@link Pace}; {@code twice-every}, default 0, which is never: each so many-th message of a sensor
 * is sent twice, as by a sensor that has lost the answer.
 */
final class Sensors {
    private final String site;
    private final int sensors;
    private final long records;
    private final long twiceEvery;
    private final Pace pace;

    /** Takes messages to a broker. */
    interface Sender {
        void send(String sensor, String message) throws Exception;

        /** Called while no message is due. */
        default void idle() throws Exception {}
    }

    Sensors(Arguments arguments) {
        site = arguments.text("site");
        sensors = arguments.integer("sensors", 4);
        records = Long.parseLong(arguments.text("records"));
        twiceEvery = arguments.whole("twice-every", 0);
        String rate = arguments.text("per-second", "200");
        pace = new Pace(rate, arguments.text("rate-file", null), System.nanoTime());
    }

    /** Sends all messages, and returns when the sender has the last. */
    void sendAll(Sender sender) throws Exception {
        for (long i = 0; i < records * sensors; i++) {
            long number = i / sensors;
            String sensor = site + "-" + i % sensors;
            long now = System.nanoTime();
            while (!pace.take(now)) {
                Thread.sleep(pace.waitNanos(now) / 1_000_000);
                sender.idle();
                now = System.nanoTime();
            }
            String message = sensor + " " + number + " " + number % 100;
            sender.send(sensor, message);
            if (twiceEvery > 0 && number % twiceEvery == twiceEvery - 1) {
                sender.send(sensor, message);
            }
        }
    }
}
