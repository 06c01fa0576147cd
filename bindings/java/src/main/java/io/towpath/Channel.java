// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.time.Duration;

/**
 * An open channel of either direction, which its card's {@link Card#sender} or {@link Card#receiver} opens. Any number of threads may
 * use it at once: transfers run one after the other, each message whole.
 *
 * <p>A limit is the time that one call waits without progress of its own; null is the channel's timeout. In simulation it is simulated
 * time. {@link Thread#interrupt} ends no call: {@link #cancel} and {@link #close} do.
 */
public abstract sealed class Channel implements AutoCloseable permits Sender, Receiver {
    /** No limit. */
    public static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

    final long handle;
    private final Card card;
    private final String name;

    Channel(Card card, String name, int direction) {
        this.card = card;
        this.name = name;
        handle = Native.openChannel(card.handle, Native.text(name), direction);
    }

    public Card card() {
        return card;
    }

    public String name() {
        return name;
    }

    /** How long calls without a limit of their own wait without progress: ten seconds at first. */
    public Duration timeout() {
        return Native.limit(Native.getTimeout(handle));
    }

    public void setTimeout(Duration timeout) {
        Native.setTimeout(handle, Native.limit(timeout));
    }

    /**
     * Ends what is in flight, other threads' calls included: they throw {@link Status#CANCELLED}, with the bytes they moved. The channel
     * stays usable, and no byte is lost.
     */
    public void cancel() {
        Native.cancel(handle);
    }

    /** Empties the channel on both sides: what is in flight ends with {@link Status#RESET}. */
    public void reset() {
        Native.resetChannel(handle);
    }

    /** Gives the channel back. Other threads' calls end with {@link Status#CANCELLED}. A second time it does nothing. */
    @Override
    public void close() {
        if (card.forget(this)) {
            Native.closeChannel(handle);
        }
    }
}
