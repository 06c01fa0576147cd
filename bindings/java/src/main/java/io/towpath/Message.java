// SPDX-License-Identifier: Apache-2.0
package io.towpath;

/**
 * A whole message from the card.
 *
 * @param data its bytes
 * @param offset what the user core set for it
 * @param user the user word that the user core set for it
 */
public record Message(byte[] data, int offset, int user) {}
