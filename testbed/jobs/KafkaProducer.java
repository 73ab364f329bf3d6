package testbed.jobs;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * {@link Sensors} that write into one partition of a Kafka topic; no job, but a program of its own.
 *
 * <p>Arguments beside theirs: {@code broker}, {@code host:port}; {@code topic}, default {@code
 * readings}; {@code partition}.
 */
public final class KafkaProducer {
    private KafkaProducer() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        Sensors sensors = new Sensors(arguments);
        String broker = arguments.text("broker");
        String topic = arguments.text("topic", "readings");
        int partition = Integer.parseInt(arguments.text("partition"));
        arguments.refuseOthers();
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", broker,
                        "acks", "all",
                        "retries", Integer.MAX_VALUE,
                        // Else a message that is sent again comes behind those that followed it.
                        "max.in.flight.requests.per.connection", 1);
        AtomicReference<Exception> refused = new AtomicReference<>();
        try (var producer =
                new org.apache.kafka.clients.producer.KafkaProducer<>(
                        settings, new StringSerializer(), new StringSerializer())) {
            sensors.sendAll(
                    (sensor, message) ->
                            producer.send(
                                    new ProducerRecord<>(topic, partition, sensor, message),
                                    (written, error) -> refused.compareAndSet(null, error)));
        }
        // Closed, so that the broker has answered each.
        if (refused.get() != null) {
            throw refused.get();
        }
    }
}
