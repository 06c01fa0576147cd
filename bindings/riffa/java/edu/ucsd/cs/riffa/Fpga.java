// SPDX-License-Identifier: Apache-2.0
package edu.ucsd.cs.riffa;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * RIFFA's calls for Java, over libriffa: the names, arguments and results of RIFFA's own class. riffa.h says what each call promises.
 *
 * <p>Lengths are in words of 32 bits. Buffers are direct ones, and their memory counts from its beginning, whatever their position is.
 * Any number of threads may use a card.
 */
public class Fpga implements AutoCloseable {
    static {
        System.loadLibrary("jriffa");
    }

    /** What the native side returns for a buffer that has no memory outside of Java's heap. */
    private static final int NOT_DIRECT = Integer.MIN_VALUE;

    private final long handle;
    private final AtomicBoolean closed = new AtomicBoolean();

    private Fpga(long handle) {
        this.handle = handle;
    }

    // As fpga_info_list: its numbers one after the other, and its names.
    private static native int list(int[] numbers, byte[] names);

    private static native long open0(int id);

    private static native void close(long handle);

    private static native int send(long handle, int chnl, ByteBuffer data, int len, int destoff, int last, long timeout);

    private static native int recv(long handle, int chnl, ByteBuffer data, long timeout);

    private static native void reset(long handle);

    /** The cards; null on an error. */
    public static FpgaInfo list() {
        int[] numbers = new int[FpgaInfo.NUMBERS];
        byte[] names = new byte[FpgaInfo.NAMES];
        return list(numbers, names) == 0 ? new FpgaInfo(numbers, names) : null;
    }

    /** Opens the card of this id; null on an error. */
    public static Fpga open(int id) {
        long handle = open0(id);
        return handle == 0 ? null : new Fpga(handle);
    }

    /** Closes the card; a second time it does nothing. */
    @Override
    public void close() {
        if (!closed.getAndSet(true)) {
            close(handle);
        }
    }

    /**
     * Sends {@code len} words of {@code data}, or as many as it has, as one transaction. Returns how many the card took, or a negative
     * number. A timeout is in milliseconds without progress; 0 is none.
     */
    public int send(int chnl, ByteBuffer data, int len, int destoff, boolean last, long timeout) {
        return checked(send(handle, chnl, data, len, destoff, last ? 1 : 0, timeout));
    }

    /** Receives into {@code data} until a transaction with last has ended. Returns the words of that one, or a negative number. */
    public int recv(int chnl, ByteBuffer data, long timeout) {
        return checked(recv(handle, chnl, data, timeout));
    }

    /** Resets the card. */
    public void reset() {
        reset(handle);
    }

    private static int checked(int result) {
        if (result == NOT_DIRECT) {
            throw new RuntimeException("the buffer is not a direct one: ByteBuffer.allocateDirect() makes one");
        }
        return result;
    }
}
