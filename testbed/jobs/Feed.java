package testbed.jobs;

import java.util.List;

/** What a subtask of a {@link BrokerSource} reads from. */
interface Feed extends AutoCloseable {
    /** A message, with what the broker knows it by. */
    final class Message {
        final long id;
        final String text;

        Message(long id, String text) {
            this.id = id;
            this.text = text;
        }
    }

    /** Waits for the next message, in a thread of its own; null if nothing has come for a while. */
    Message receive() throws Exception;

    /** Called in the same thread while the task takes no more messages. */
    default void idle() throws Exception {}

    /** Called when a checkpoint is complete, with the messages that no failure brings back. */
    default void acknowledge(List<Long> ids) throws Exception {}
}
