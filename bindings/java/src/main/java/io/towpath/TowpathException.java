// SPDX-License-Identifier: Apache-2.0
package io.towpath;

/** A call failed. The message says what happened, on which channel, and what to do. */
public final class TowpathException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int number;
    private final int errorNumber;
    private final long moved;

    // The native side calls this.
    TowpathException(int number, int errorNumber, long moved, byte[] text) {
        super(Native.text(text));
        this.number = number;
        this.errorNumber = errorNumber;
        this.moved = moved;
    }

    /** What went wrong. */
    public Status status() {
        return Status.of(number);
    }

    /** The C library's number for it, also where {@link #status} is {@link Status#OTHER} because it is newer than these classes. */
    public int number() {
        return number;
    }

    /** The errno that comes nearest to it. */
    public int errorNumber() {
        return errorNumber;
    }

    /**
     * How many bytes the call moved before it failed: the offset, from where it began in the caller's memory, at which the next call
     * goes on. Zero for calls that move none.
     */
    public long moved() {
        return moved;
    }
}
