// SPDX-License-Identifier: Apache-2.0
package io.towpath;

/** What went wrong: towpath_status of the C library, whose header describes each. Later versions may add some. */
public enum Status {
    OK,
    INVALID,
    UNKNOWN_SCHEME,
    NO_SUCH_DEVICE,
    CORE,
    NOT_TOWPATH,
    VERSION,
    DISCOVERY,
    NO_SUCH_CHANNEL,
    WRONG_DIRECTION,
    CHANNEL_IN_USE,
    TIMEOUT,
    PENDING,
    CANCELLED,
    RESET,
    FAULT,
    QUEUE_FULL,
    UNKNOWN_TICKET,
    BUFFER_IN_USE,
    PROTOCOL,
    REGISTER,
    INTERRUPT_TIMEOUT,
    MEMORY,
    BUS,
    UNAVAILABLE,
    INTERNAL,
    NOT_READY,
    OTHER,
    INTERRUPTED,
    FORKED,
    KIND,
    WRONG_KIND;

    private static final Status[] BY_NUMBER = values();

    /** A number that these classes do not know is {@link #OTHER}. */
    static Status of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : OTHER;
    }
}
