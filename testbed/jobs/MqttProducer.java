package testbed.jobs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Sensors of one site that speak to its MQTT broker with QoS 1; no job, but a program of its own.
 *
 * <p>Arguments, each {@code key=value}: {@code broker}, {@code host:port}; {@code site}, in the names
 * of its sensors; {@code sensors}, default 4; {@code records} of each; {@code per-second} of all,
 * default 200, and {@code rate-file}, see {@link Pace}; {@code twice-every}, default 0, which is never:
 * each so many-th message of a sensor is sent twice, as by a sensor that has lost the answer.
 */
public final class MqttProducer {
    /** As many messages as the broker need not have answered. */
    private static final int OPEN = 1000;

    private MqttProducer() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        String site = arguments.text("site");
        int sensors = arguments.integer("sensors", 4);
        long records = Long.parseLong(arguments.text("records"));
        long twiceEvery = arguments.whole("twice-every", 0);
        String rate = arguments.text("per-second", "200");
        Pace pace = new Pace(rate, arguments.text("rate-file", null), System.nanoTime());
        String broker = arguments.text("broker");
        arguments.refuseOthers();
        try (MqttClient client = new MqttClient(broker, "producer-" + site, 30)) {
            int open = 0;
            for (long i = 0; i < records * sensors; i++) {
                long number = i / sensors;
                String sensor = site + "-" + i % sensors;
                long now = System.nanoTime();
                while (!pace.take(now)) {
                    Thread.sleep(pace.waitNanos(now) / 1_000_000);
                    client.pingIfDue();
                    now = System.nanoTime();
                }
                boolean twice = twiceEvery > 0 && number % twiceEvery == twiceEvery - 1;
                byte[] payload =
                        (sensor + " " + number + " " + number % 100)
                                .getBytes(StandardCharsets.UTF_8);
                for (int time = 0; time < (twice ? 2 : 1); time++) {
                    client.publish("readings/" + sensor, payload);
                    open++;
                }
                while (open > OPEN) {
                    open -= taken(client);
                }
            }
            while (open > 0) {
                open -= taken(client);
            }
        }
    }

    private static int taken(MqttClient client) throws IOException {
        MqttClient.Packet packet = client.receive();
        return packet != null && packet.isTaken() ? 1 : 0;
    }
}
