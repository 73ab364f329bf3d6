package testbed.jobs;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A connection to a broker that speaks MQTT 3.1.1 (OASIS standard, 29 October 2014), with the half
 * of it that a source and a producer need: sessions that outlive connections, and QoS 1.
 *
 * <p>One thread receives. Any thread may send.
 */
final class MqttClient implements AutoCloseable {
    private static final int CONNECT = 1;
    private static final int CONNACK = 2;
    private static final int PUBLISH = 3;
    private static final int PUBACK = 4;
    private static final int SUBSCRIBE = 8;
    private static final int SUBACK = 9;
    private static final int PINGREQ = 12;
    private static final int PINGRESP = 13;
    private static final int DISCONNECT = 14;

    private static final int QOS_1 = 0b0010;
    private static final int DUP = 0b1000;
    private static final int LARGEST_ID = 65_535;
    private static final int LARGEST_KEEP_ALIVE_S = 65_535;
    private static final int ANSWER_MS = 10_000;
    private static final int WAIT_MS = 200;

    private final String broker;
    private final long keepAliveNanos;
    private final boolean goesOn;
    private final Socket socket = new Socket();
    private final InputStream in;
    private final OutputStream out;
    private long pingedNanos = System.nanoTime();
    private long heardNanos;
    private int lastId;

    /** What a broker sends: a message, or that it has taken one of ours. */
    static final class Packet {
        final int id;
        final boolean again;
        final String topic;
        final byte[] payload;

        private Packet(int id, boolean again, String topic, byte[] payload) {
            this.id = id;
            this.again = again;
            this.topic = topic;
            this.payload = payload;
        }

        /** Whether it says that the broker has taken the message with this id. */
        boolean isTaken() {
            return topic == null;
        }
    }

    /**
     * Connects, and goes on with the session of this client if the broker has one: messages that
     * were not acknowledged come again. Another connection of the same client ends.
     *
     * @param broker {@code host:port}
     * @param client name of the session
     * @param keepAliveS after how long without a word each side takes the other for lost, at most
     *     65,535; 0: never
     * @throws IOException if the broker does not answer, or refuses
     */
    MqttClient(String broker, String client, int keepAliveS) throws IOException {
        this.broker = broker;
        keepAliveNanos =
                keepAlive(keepAliveS) == 0 ? Long.MAX_VALUE : keepAliveS * 1_000_000_000L;
        int colon = broker.lastIndexOf(':');
        if (colon < 1 || !broker.substring(colon + 1).matches("\\d{1,5}")) {
            throw new IllegalArgumentException("a broker is host:port, not " + broker);
        }
        int port = Integer.parseInt(broker.substring(colon + 1));
        try {
            socket.connect(new InetSocketAddress(broker.substring(0, colon), port), ANSWER_MS);
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
            out = socket.getOutputStream();
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            DataOutputStream fields = new DataOutputStream(body);
            fields.writeUTF("MQTT");
            fields.writeByte(4); // The level of 3.1.1.
            fields.writeByte(0); // Not a clean session, no user, no will.
            fields.writeShort(keepAliveS);
            fields.writeUTF(client);
            send(CONNECT << 4, body.toByteArray());
            byte[] answer = expect(CONNACK, 2);
            if (answer[1] != 0) {
                throw new IOException(broker + " refuses " + client + " with code " + answer[1]);
            }
            goesOn = (answer[0] & 1) == 1;
            heardNanos = System.nanoTime();
        } catch (IOException | RuntimeException error) {
            socket.close();
            throw error;
        }
    }

    /** Returns these seconds if they fit into the two bytes that MQTT has for them. */
    static int keepAlive(int seconds) {
        if (seconds < 0 || seconds > LARGEST_KEEP_ALIVE_S) {
            throw new IllegalArgumentException(
                    "keep alive is 0 to " + LARGEST_KEEP_ALIVE_S + " s, not " + seconds);
        }
        return seconds;
    }

    /** Whether the broker had a session of this client, with what has waited in it. */
    boolean goesOn() {
        return goesOn;
    }

    /** Asks for the messages of a topic with QoS 1: before anything is received. */
    void subscribe(String topic) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream fields = new DataOutputStream(body);
        fields.writeShort(nextId());
        fields.writeUTF(topic);
        fields.writeByte(1);
        send(SUBSCRIBE << 4 | 0b0010, body.toByteArray());
    }

    /** Sends a message with QoS 1, and returns the id with which the broker will say it has it. */
    int publish(String topic, byte[] payload) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream fields = new DataOutputStream(body);
        int id = nextId();
        fields.writeUTF(topic);
        fields.writeShort(id);
        fields.write(payload);
        send(PUBLISH << 4 | QOS_1, body.toByteArray());
        return id;
    }

    /** Tells the broker that it may forget these messages. */
    void acknowledge(List<Long> ids) throws IOException {
        ByteArrayOutputStream packets = new ByteArrayOutputStream(4 * ids.size());
        for (long id : ids) {
            packets.writeBytes(packet(PUBACK << 4, new byte[] {(byte) (id >> 8), (byte) id}));
        }
        write(packets.toByteArray());
    }

    /**
     * Waits a moment for the next packet that says something to the caller.
     *
     * @return null if none has come
     * @throws IOException if the connection or the broker is lost, or the bytes are no MQTT
     */
    Packet receive() throws IOException {
        while (true) {
            pingIfDue();
            int first;
            socket.setSoTimeout(WAIT_MS);
            try {
                first = in.read();
            } catch (SocketTimeoutException nothing) {
                if (System.nanoTime() - heardNanos > keepAliveNanos) {
                    throw new IOException(broker + " does not answer", nothing);
                }
                return null;
            }
            byte[] body = body(first);
            heardNanos = System.nanoTime();
            switch (first >> 4) {
                case PUBLISH:
                    return message(first, body);
                case PUBACK:
                    return new Packet(id(body), false, null, null);
                case SUBACK:
                    if (body.length != 3 || body[2] != 1) {
                        throw new IOException(broker + " does not grant QoS 1");
                    }
                    break;
                case PINGRESP:
                    break;
                default:
                    throw new IOException(broker + " sends a packet of kind " + (first >> 4));
            }
        }
    }

    /**
     * Keeps the broker from giving up this client. Who does not receive for a while calls it, in the
     * thread that receives: the answers wait until then.
     */
    void pingIfDue() throws IOException {
        long now = System.nanoTime();
        if (now - pingedNanos >= keepAliveNanos / 2) {
            pingedNanos = now;
            send(PINGREQ << 4, new byte[0]);
        }
    }

    @Override
    public void close() throws IOException {
        try (socket) {
            send(DISCONNECT << 4, new byte[0]);
        }
    }

    private Packet message(int first, byte[] body) throws IOException {
        if ((first & 0b0110) != QOS_1) {
            throw new IOException(broker + " sends a message with another QoS than 1");
        }
        DataInputStream fields = new DataInputStream(new ByteArrayInputStream(body));
        byte[] topic = fields.readNBytes(fields.readUnsignedShort());
        int id = fields.readUnsignedShort();
        return new Packet(
                id,
                (first & DUP) != 0,
                new String(topic, StandardCharsets.UTF_8),
                fields.readAllBytes());
    }

    private byte[] expect(int kind, int length) throws IOException {
        socket.setSoTimeout(ANSWER_MS);
        int first = in.read();
        // What is no MQTT has no length.
        byte[] body = first < 0 || first >> 4 == kind ? body(first) : new byte[0];
        if (body.length != length) {
            throw new IOException(broker + " does not speak MQTT 3.1.1");
        }
        return body;
    }

    private static int id(byte[] body) throws IOException {
        if (body.length != 2) {
            throw new IOException("an id of " + body.length + " bytes");
        }
        return Byte.toUnsignedInt(body[0]) << 8 | Byte.toUnsignedInt(body[1]);
    }

    /** What follows the first byte of a packet: its length, seven bits a byte, and so many bytes. */
    private byte[] body(int first) throws IOException {
        // The rest is under way: a slow link is not a lost one.
        socket.setSoTimeout(ANSWER_MS);
        int length = 0;
        int shift = 0;
        int each = first < 0 ? first : in.read();
        while (each >= 0x80 && shift < 21) {
            length |= (each & 0x7f) << shift;
            shift += 7;
            each = in.read();
        }
        if (each >= 0x80) {
            throw new IOException(broker + " sends a length of more than four bytes");
        }
        length |= each << shift;
        byte[] body = each < 0 ? null : in.readNBytes(length);
        if (body == null || body.length < length) {
            throw new EOFException(broker + " has closed the connection");
        }
        return body;
    }

    private synchronized int nextId() {
        lastId = lastId % LARGEST_ID + 1;
        return lastId;
    }

    private void send(int first, byte[] body) throws IOException {
        write(packet(first, body));
    }

    private synchronized void write(byte[] packets) throws IOException {
        out.write(packets);
    }

    private static byte[] packet(int first, byte[] body) {
        ByteArrayOutputStream packet = new ByteArrayOutputStream(body.length + 5);
        packet.write(first);
        int left = body.length;
        while (left >= 0x80) {
            packet.write(left & 0x7f | 0x80);
            left >>= 7;
        }
        packet.write(left);
        packet.writeBytes(body);
        return packet.toByteArray();
    }
}
