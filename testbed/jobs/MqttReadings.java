package testbed.jobs;

/**
 * {@link Readings} of MQTT brokers, one at each site: subscribed with QoS 1 in a session that the
 * broker keeps, and acknowledged when a checkpoint is complete.
 *
 * <p>Arguments beside those of {@link Readings}: {@code brokers}, {@code host:port} of each site's with
 * commas between; {@code topic}, default {@code readings/#}; {@code keep-alive-s}, default 30; 0
 * for a connection that neither side gives up.
 */
public final class MqttReadings {
    private MqttReadings() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        String[] brokers = arguments.text("brokers").split(",");
        String topic = arguments.text("topic", "readings/#");
        int keepAliveS = MqttClient.keepAlive(arguments.integer("keep-alive-s", 30));
        // A session is found again by this name, whatever the job's id is.
        String client = arguments.text("name", "MqttReadings");
        Readings.run(
                arguments,
                brokers.length,
                (subtask, from) ->
                        new MqttSession(
                                brokers[subtask], client + "-" + subtask, topic, keepAliveS, from),
                "MqttReadings");
    }
}
