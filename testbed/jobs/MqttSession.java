package testbed.jobs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The messages of a topic at an MQTT broker, in a session that the broker keeps. */
final class MqttSession implements Feed {
    private final MqttClient client;

    /**
     * Goes on with a session, or begins it.
     *
     * @param name of the session
     * @param from the first id that was not seen; above 0, the broker must have the session
     * @throws IOException if the connection fails, or the broker has lost the session. It has a new
     *     one then, so the next attempt goes on with what comes from now on
     */
    MqttSession(String broker, String name, String topic, int keepAliveS, long from)
            throws IOException {
        client = new MqttClient(broker, name, keepAliveS);
        try {
            // First, so that no more is lost.
            client.subscribe(topic);
            if (from > 0 && !client.goesOn()) {
                throw new IOException(
                        broker
                                + " has lost session "
                                + name
                                + ", and the messages that waited in it: save its sessions");
            }
        } catch (IOException error) {
            try (client) {
                throw error;
            }
        }
    }

    @Override
    public Message receive() throws IOException {
        MqttClient.Packet packet = client.receive();
        return packet == null
                ? null
                : new Message(packet.id, new String(packet.payload, StandardCharsets.UTF_8));
    }

    @Override
    public void idle() throws IOException {
        client.pingIfDue();
    }

    @Override
    public void acknowledge(List<Long> ids) throws IOException {
        client.acknowledge(ids);
    }

    @Override
    public void close() throws IOException {
        client.close();
    }
}
