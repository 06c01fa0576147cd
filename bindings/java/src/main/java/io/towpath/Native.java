// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/**
 * The C library's calls, as libjtowpath.so passes them on. Handles and addresses are longs. A call that fails throws a
 * {@link TowpathException}. Texts are in UTF-8, those for C end with a zero.
 */
final class Native {
    static final long FOREVER = -1;
    static final long CHANNEL_TIMEOUT = -2;

    static {
        System.loadLibrary("jtowpath");
    }

    private Native() {}

    static native byte[] version();

    static native void list(List<Card.Listing> into);

    static native long open(byte[] name);

    static native void close(long card);

    // Into numbers: serial, core version, contract's major and minor, data bits, tags, interrupts, register bytes, features.
    static native byte[][] info(long card, long[] numbers);

    static native void channels(long card, List<Card.ChannelInfo> into);

    static native byte[][] registers(long card);

    static native void reset(long card);

    static native long now(long card);

    static native int readRegister(long card, int offset);

    static native void writeRegister(long card, int offset, int value);

    static native int readRegisterName(long card, byte[] name);

    static native void writeRegisterName(long card, byte[] name, int value);

    static native int waitInterrupt(long card, int number, long limit);

    static native int countInterrupt(long card, int number);

    static native long openChannel(long card, byte[] name, int direction);

    static native void closeChannel(long channel);

    static native void cancel(long channel);

    static native void resetChannel(long channel);

    static native void setTimeout(long channel, long nanoseconds);

    static native long getTimeout(long channel);

    // Either an array and the place in it, or null and an address.
    static native long send(
            long channel, byte[] array, long at, long bytes, int flags, long length, long offset, int user, long limit);

    // Into result: bytes, end of message, offset, user word.
    static native void receive(long channel, byte[] array, long at, long bytes, long limit, long[] result);

    static native byte[] receiveMessage(long channel, long limit, long[] result);

    // Into result: whether the length is known, length, offset, user word. False: none has begun.
    static native boolean waitMessageStart(long channel, long limit, long[] result);

    // Into size: the memory's bytes.
    static native long openMemory(long card, byte[] name, long[] size);

    static native void closeMemory(long memory);

    static native long readMemory(long memory, long address, byte[] array, long at, long bytes, long limit);

    static native long writeMemory(long memory, long address, byte[] array, long at, long bytes, long limit);

    /** Where a direct buffer's memory begins. */
    static native long address(ByteBuffer direct);

    // Called by list() and channels().
    static void listed(List<Card.Listing> into, byte[] name, byte[] description, int order, boolean known, long serial) {
        into.add(new Card.Listing(text(name), text(description), order, known ? serial : null));
    }

    static void channel(
            List<Card.ChannelInfo> into, byte[] name, byte[] kind, int number, int direction, int queueDepth, int bufferBytes) {
        into.add(new Card.ChannelInfo(text(name), text(kind), number, direction == 0, queueDepth, bufferBytes));
    }

    static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** A text for C; null stays null. */
    static byte[] text(String text) {
        if (text == null) {
            return null;
        }
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a name with a zero in it");
        }
        return (text + '\0').getBytes(StandardCharsets.UTF_8);
    }

    /** A limit for C; null is the channel's timeout. What is longer than 292 years is for ever. */
    static long limit(Duration limit) {
        if (limit == null) {
            return CHANNEL_TIMEOUT;
        }
        if (limit.isNegative()) {
            throw new IllegalArgumentException("a negative limit: " + limit);
        }
        try {
            return limit.toNanos();
        } catch (ArithmeticException tooLong) {
            return FOREVER;
        }
    }

    static Duration limit(long nanoseconds) {
        return nanoseconds < 0 ? Channel.FOREVER : Duration.ofNanos(nanoseconds);
    }
}
