package testbed.jobs;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * The messages of a partition from an offset on. The broker keeps nothing about who has read what: the
 * checkpoint has the offset, so there is nothing to acknowledge, and the same messages can be read
 * again.
 */
final class KafkaPartition implements Feed {
    private static final long WAIT_MS = 200;

    private final KafkaConsumer<String, String> consumer;
    private Iterator<ConsumerRecord<String, String>> fetched = Collections.emptyIterator();

    /**
     * Begins to read.
     *
     * @param from the first offset. If the broker has deleted it, {@link #receive} fails: a consumer
     *     that went on elsewhere would lose messages without a word
     */
    KafkaPartition(String broker, String topic, int partition, long from) {
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", broker,
                        "enable.auto.commit", false,
                        "auto.offset.reset", "none");
        consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        TopicPartition here = new TopicPartition(topic, partition);
        consumer.assign(List.of(here));
        consumer.seek(here, from);
    }

    @Override
    public Message receive() {
        if (!fetched.hasNext()) {
            fetched = consumer.poll(WAIT_MS).iterator();
        }
        if (!fetched.hasNext()) {
            return null;
        }
        ConsumerRecord<String, String> next = fetched.next();
        return new Message(next.offset(), next.value());
    }

    @Override
    public void close() {
        consumer.close();
    }
}
