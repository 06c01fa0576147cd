// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/** A channel from the card. */
public final class Receiver extends Channel {
    Receiver(Card card, String name) {
        super(card, name, 1);
    }

    /** Receives into what remains of the buffer, with the channel's timeout. */
    public Received receive(ByteBuffer data) {
        return receive(data, null);
    }

    /**
     * Receives into what remains of the buffer until it is full or the message ends. No call takes bytes of two messages. The buffer's
     * position moves by what came, on failure, too; the next call goes on with the message.
     *
     * <p>A direct buffer is written where it is; other memory is copied to once.
     */
    public Received receive(ByteBuffer data, Duration limit) {
        if (data.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        int at = data.position();
        long moved = 0;
        try {
            Received received = data.isDirect()
                    ? receive(Native.address(data) + at, data.remaining(), limit)
                    : receive(data.array(), data.arrayOffset() + at, data.remaining(), limit);
            moved = received.bytes();
            return received;
        } catch (TowpathException failed) {
            moved = failed.moved();
            throw failed;
        } finally {
            Reference.reachabilityFence(data);
            data.position(at + (int) moved);
        }
    }

    /** Receives into an array, with the channel's timeout. */
    public Received receive(byte[] data) {
        return receive(data, 0, data.length, null);
    }

    /** Receives into a part of an array. On failure {@link TowpathException#moved} of its bytes are valid. */
    public Received receive(byte[] data, int first, int bytes, Duration limit) {
        Objects.checkFromIndexSize(first, bytes, data.length);
        return receive(data, (long) first, bytes, limit);
    }

    /** For memory outside of Java's heap that is no buffer, such as a MemorySegment's. It must stay until this returns. */
    Received receive(long address, long bytes, Duration limit) {
        return receive(null, address, bytes, limit);
    }

    private Received receive(byte[] array, long at, long bytes, Duration limit) {
        long[] result = new long[4];
        Native.receive(handle, array, at, bytes, Native.limit(limit), result);
        return new Received(result[0], result[1] != 0, (int) result[2], (int) result[3]);
    }

    /** Receives a whole message, with the channel's timeout. */
    public Message receiveMessage() {
        return receiveMessage(null);
    }

    /** Receives a whole message. On failure what has come of it is kept for the next call, also when there is no memory for it. */
    public Message receiveMessage(Duration limit) {
        long[] result = new long[2];
        byte[] data = Native.receiveMessage(handle, Native.limit(limit), result);
        return new Message(data, (int) result[0], (int) result[1]);
    }

    /** Waits until the user core has begun a message. Takes nothing of it. Empty: none had begun when the limit was over. */
    public Optional<MessageStart> waitMessageStart(Duration limit) {
        long[] result = new long[4];
        if (!Native.waitMessageStart(handle, Native.limit(limit), result)) {
            return Optional.empty();
        }
        OptionalLong length = result[0] == 0 ? OptionalLong.empty() : OptionalLong.of(result[1]);
        return Optional.of(new MessageStart(length, (int) result[2], (int) result[3]));
    }
}
