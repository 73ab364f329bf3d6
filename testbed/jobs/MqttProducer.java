package testbed.jobs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * {@link Sensors} that speak to the MQTT broker of their site with QoS 1; no job, but a program of its
 * own. Argument beside theirs: {@code broker}, {@code host:port}.
 */
public final class MqttProducer {
    private MqttProducer() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        Sensors sensors = new Sensors(arguments);
        String broker = arguments.text("broker");
        String client = "producer-" + arguments.text("site");
        arguments.refuseOthers();
        try (MqttClient connected = new MqttClient(broker, client, 30)) {
            Sender sender = new Sender(connected);
            sensors.sendAll(sender);
            sender.waitForAnswers(0);
        }
    }

    private static final class Sender implements Sensors.Sender {
        /** As many messages as the broker need not have answered. */
        private static final int OPEN = 1000;

        private final MqttClient client;
        private int open;

        Sender(MqttClient client) {
            this.client = client;
        }

        @Override
        public void send(String sensor, String message) throws IOException {
            client.publish("readings/" + sensor, message.getBytes(StandardCharsets.UTF_8));
            open++;
            waitForAnswers(OPEN);
        }

        @Override
        public void idle() throws IOException {
            client.pingIfDue();
        }

        void waitForAnswers(int left) throws IOException {
            while (open > left) {
                MqttClient.Packet packet = client.receive();
                if (packet != null && packet.isTaken()) {
                    open--;
                }
            }
        }
    }
}
