// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;

/** A channel to the card. */
public final class Sender extends Channel {
    // Of towpath_message.flags.
    private static final int MORE = 1;
    private static final int LENGTH = 2;

    Sender(Card card, String name) {
        super(card, name, 0);
    }

    /** Sends what remains in the buffer as one message. */
    public void send(ByteBuffer data) {
        send(data, Attributes.NONE, null);
    }

    /**
     * Sends what remains in the buffer, as a message or a part of one, and waits until the card has it. The buffer's position moves by
     * what the card has taken, on failure, too: then the message is open, and a send of what remains goes on with it.
     *
     * <p>A direct buffer is sent from where it is; other memory is copied once.
     */
    public void send(ByteBuffer data, Attributes attributes, Duration limit) {
        int at = data.position();
        long moved = 0;
        try {
            if (data.isDirect()) {
                moved = send(Native.address(data) + at, data.remaining(), attributes, limit);
            } else if (data.hasArray()) {
                moved = send(data.array(), data.arrayOffset() + at, data.remaining(), attributes, limit);
            } else { // read-only
                byte[] copy = new byte[data.remaining()];
                data.duplicate().get(copy);
                moved = send(copy, 0, copy.length, attributes, limit);
            }
        } catch (TowpathException failed) {
            moved = failed.moved();
            throw failed;
        } finally {
            Reference.reachabilityFence(data);
            data.position(at + (int) moved);
        }
    }

    /** Sends an array as one message. */
    public void send(byte[] data) {
        send(data, 0, data.length, Attributes.NONE, null);
    }

    /** Sends a part of an array, and returns its bytes. On failure {@link TowpathException#moved} says how many the card took. */
    public long send(byte[] data, int first, int bytes, Attributes attributes, Duration limit) {
        Objects.checkFromIndexSize(first, bytes, data.length);
        return send(data, (long) first, bytes, attributes, limit);
    }

    /** For memory outside of Java's heap that is no buffer, such as a MemorySegment's. It must stay until this returns. */
    long send(long address, long bytes, Attributes attributes, Duration limit) {
        return send(null, address, bytes, attributes, limit);
    }

    private long send(byte[] array, long at, long bytes, Attributes attributes, Duration limit) {
        int flags = (attributes.more() ? MORE : 0) | (attributes.length() < 0 ? 0 : LENGTH);
        long length = Math.max(attributes.length(), 0);
        return Native.send(
                handle, array, at, bytes, flags, length, attributes.offset(), attributes.user(), Native.limit(limit));
    }
}
