// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * An open card: a board, or the gateware in simulation.
 *
 * <pre>{@code
 * try (Card card = Card.open("sim:loopback")) {
 *     card.sender("in").send("hello".getBytes());
 *     Message message = card.receiver("out").receiveMessage();
 * }
 * }</pre>
 *
 * <p>All methods may be called from any thread at any time. A card that is not closed stays open until the process ends.
 */
public final class Card implements AutoCloseable {
    final long handle;
    private final Set<AutoCloseable> opened = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean closed = new AtomicBoolean();
    /** What the C library tells of a card are texts that go when it is closed. */
    private final ReentrantReadWriteLock texts = new ReentrantReadWriteLock();

    /**
     * A card that can be opened now.
     *
     * @param name by which it can be opened
     * @param description what it is, in words
     * @param order its place in the order, from 1; 0: it has none
     * @param serial its serial number; null: only opening it tells
     */
    public record Listing(String name, String description, int order, Long serial) {}

    /**
     * A channel, or a memory.
     *
     * @param name the user core's name for it
     * @param kind "stream", "memory" or another kind
     * @param number its number
     * @param toCard whether it carries data to the card
     * @param queueDepth transfers that can be in flight
     * @param bufferBytes bytes that it buffers on the card
     */
    public record ChannelInfo(String name, String kind, int number, boolean toCard, int queueDepth, int bufferBytes) {}

    /**
     * What a card reports about itself.
     *
     * @param name by which it was opened
     * @param core the user core's name
     * @param serial the card's serial number
     * @param coreVersion the user core's version
     * @param contractMajor version of the card's contract: major
     * @param contractMinor version of the card's contract: minor
     * @param dataBits width of the data path
     * @param tags read requests that can be outstanding
     * @param interrupts user interrupts, which are numbered from 0
     * @param registerBytes size of the user core's registers
     * @param features what not every card can: 1, fill levels; 2, quality of service
     */
    public record Info(
            String name,
            String core,
            long serial,
            int coreVersion,
            int contractMajor,
            int contractMinor,
            int dataBits,
            int tags,
            int interrupts,
            int registerBytes,
            int features) {}

    private Card(long handle) {
        this.handle = handle;
    }

    /** The C library's version. */
    public static String version() {
        return Native.text(Native.version());
    }

    /** The cards that can be opened now. */
    public static List<Listing> list() {
        List<Listing> list = new ArrayList<>();
        Native.list(list);
        return list;
    }

    /** Opens the card that TOWPATH_DEVICE names, or else the first in this machine. */
    public static Card open() {
        return open(null);
    }

    /** Opens a card by its name: "sim:CORE", "vfio:0000:65:00.0", "/dev/towpath0", "serial:NUMBER", "#NUMBER" and so on. */
    public static Card open(String name) {
        return new Card(Native.open(Native.text(name)));
    }

    /** Opens a channel to the card. */
    public Sender sender(String channel) {
        return keep(new Sender(this, channel));
    }

    /** Opens a channel from the card. */
    public Receiver receiver(String channel) {
        return keep(new Receiver(this, channel));
    }

    /** Opens a memory of the user core. */
    public Memory memory(String name) {
        return keep(new Memory(this, name));
    }

    public Registers registers() {
        return new Registers(this);
    }

    public Info info() {
        long[] n = new long[9];
        byte[][] told = told(() -> Native.info(handle, n));
        return new Info(
                Native.text(told[0]),
                Native.text(told[1]),
                n[0],
                (int) n[1],
                (int) n[2],
                (int) n[3],
                (int) n[4],
                (int) n[5],
                (int) n[6],
                (int) n[7],
                (int) n[8]);
    }

    public List<ChannelInfo> channels() {
        List<ChannelInfo> channels = new ArrayList<>();
        return told(
                () -> {
                    Native.channels(handle, channels);
                    return channels;
                });
    }

    /** Resets all channels and the user core. */
    public void reset() {
        Native.reset(handle);
    }

    /**
     * Waits for events of a user interrupt that no earlier call has returned; returns how many, at least one.
     * {@link Status#INTERRUPT_TIMEOUT}: it did not come in time.
     */
    public int waitInterrupt(int number, Duration limit) {
        if (limit == null) {
            throw new NullPointerException("an interrupt has no timeout of its own: give a limit");
        }
        return Native.waitInterrupt(handle, number, Native.limit(limit));
    }

    /** Events of a user interrupt since the card was switched on, modulo 2^32. */
    public int countInterrupt(int number) {
        return Native.countInterrupt(handle, number);
    }

    /** Time since an unspecified moment, by which limits count: in simulation it is simulated time. */
    public Duration now() {
        return Duration.ofNanos(Native.now(handle));
    }

    /** Closes the card, and first the channels and memories that were opened from it. A second time it does nothing. */
    @Override
    public void close() {
        TowpathException failed = null;
        for (AutoCloseable each : opened) {
            try {
                if (each instanceof Channel channel) {
                    channel.close();
                } else {
                    ((Memory) each).close();
                }
            } catch (TowpathException why) {
                failed = why;
            }
        }
        if (!closed.getAndSet(true)) {
            texts.writeLock().lock();
            try {
                Native.close(handle);
            } finally {
                texts.writeLock().unlock();
            }
        }
        if (failed != null) {
            throw failed;
        }
    }

    /** What the C library tells of the card, which stays open meanwhile. */
    <T> T told(Supplier<T> ask) {
        texts.readLock().lock();
        try {
            return ask.get();
        } finally {
            texts.readLock().unlock();
        }
    }

    private <T extends AutoCloseable> T keep(T each) {
        opened.add(each);
        return each;
    }

    /** Whether the caller is the one to close it. */
    boolean forget(AutoCloseable each) {
        return opened.remove(each);
    }
}
