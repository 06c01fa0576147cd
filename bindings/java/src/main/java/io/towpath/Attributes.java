// SPDX-License-Identifier: Apache-2.0
package io.towpath;

/**
 * What a message to the card carries besides its bytes.
 *
 * @param more the message goes on with the next call
 * @param length bytes in the whole message, which the user core receives beforehand; negative: it is not told
 * @param offset for the user core: an offset, or an address on the card
 * @param user for the user core: a value of the program's choice
 */
public record Attributes(boolean more, long length, long offset, int user) {
    /** A whole message without attributes. */
    public static final Attributes NONE = new Attributes(false, -1, 0, 0);

    /** The same, of a message that goes on with the next call. */
    public Attributes andMore() {
        return new Attributes(true, length, offset, user);
    }

    public Attributes withLength(long length) {
        return new Attributes(more, length, offset, user);
    }

    public Attributes withOffset(long offset) {
        return new Attributes(more, length, offset, user);
    }

    public Attributes withUser(int user) {
        return new Attributes(more, length, offset, user);
    }
}
