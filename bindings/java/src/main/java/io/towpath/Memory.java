// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.time.Duration;
import java.util.Objects;

/** A memory of the user core: bytes with addresses from 0 on. Any number of threads may use it at once. */
public final class Memory implements AutoCloseable {
    private final Card card;
    private final long handle;
    private final long size;

    Memory(Card card, String name) {
        this.card = card;
        long[] bytes = new long[1];
        handle = Native.openMemory(card.handle, Native.text(name), bytes);
        size = bytes[0];
    }

    /** Its bytes. */
    public long size() {
        return size;
    }

    /** Reads into what remains of the buffer. Its position moves by what was read, on failure, too. */
    public void read(long address, ByteBuffer data, Duration limit) {
        if (data.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        int at = data.position();
        long moved = 0;
        try {
            moved = data.isDirect()
                    ? read(address, Native.address(data) + at, data.remaining(), limit)
                    : Native.readMemory(
                            handle, address, data.array(), data.arrayOffset() + at, data.remaining(), Native.limit(limit));
        } catch (TowpathException failed) {
            moved = failed.moved();
            throw failed;
        } finally {
            Reference.reachabilityFence(data);
            data.position(at + (int) moved);
        }
    }

    /** Reads so many bytes. */
    public byte[] read(long address, int bytes) {
        byte[] data = new byte[bytes];
        Native.readMemory(handle, address, data, 0, bytes, Native.CHANNEL_TIMEOUT);
        return data;
    }

    /**
     * Writes what remains in the buffer, and waits until the user core has answered. The buffer's position moves by what certainly was
     * written; on failure more of it may have been.
     */
    public void write(long address, ByteBuffer data, Duration limit) {
        int at = data.position();
        long moved = 0;
        try {
            if (data.isDirect()) {
                moved = write(address, Native.address(data) + at, data.remaining(), limit);
            } else {
                ByteBuffer whole = data;
                if (!data.hasArray()) { // read-only
                    whole = ByteBuffer.allocate(data.remaining()).put(data.duplicate()).flip();
                }
                int first = whole.arrayOffset() + whole.position();
                moved = Native.writeMemory(handle, address, whole.array(), first, whole.remaining(), Native.limit(limit));
            }
        } catch (TowpathException failed) {
            moved = failed.moved();
            throw failed;
        } finally {
            Reference.reachabilityFence(data);
            data.position(at + (int) moved);
        }
    }

    /** Writes an array. */
    public void write(long address, byte[] data) {
        Objects.requireNonNull(data);
        Native.writeMemory(handle, address, data, 0, data.length, Native.CHANNEL_TIMEOUT);
    }

    /** For memory outside of Java's heap that is no buffer, as in {@link Sender}. */
    long read(long address, long into, long bytes, Duration limit) {
        return Native.readMemory(handle, address, null, into, bytes, Native.limit(limit));
    }

    /** For memory outside of Java's heap that is no buffer, as in {@link Sender}. */
    long write(long address, long from, long bytes, Duration limit) {
        return Native.writeMemory(handle, address, null, from, bytes, Native.limit(limit));
    }

    /** Gives the memory back. Other threads' calls end with {@link Status#CANCELLED}. A second time it does nothing. */
    @Override
    public void close() {
        if (card.forget(this)) {
            Native.closeMemory(handle);
        }
    }
}
