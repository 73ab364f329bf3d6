package testbed.jobs;

/**
 * {@link Readings} of a Kafka topic: source subtask i reads partition i, and keeps its offset in the
 * checkpoint.
 *
 * <p>Written for the client of Kafka 0.9; Flink's own connector needs a later one.
 *
 * <p>Arguments beside those of {@link Readings}: {@code broker}, {@code host:port}; {@code topic},
 * default {@code readings}; {@code partitions}.
 */
public final class KafkaReadings {
    private KafkaReadings() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        String broker = arguments.text("broker");
        String topic = arguments.text("topic", "readings");
        int partitions = Integer.parseInt(arguments.text("partitions"));
        Readings.run(
                arguments,
                partitions,
                (subtask, from) -> new KafkaPartition(broker, topic, subtask, from),
                "KafkaReadings");
    }
}
