// SPDX-License-Identifier: Apache-2.0
package io.towpath;

/**
 * What a receive brought.
 *
 * @param bytes how many
 * @param endOfMessage whether the message ended here; if not, the next call returns its rest
 * @param offset what the user core set for the message
 * @param user the user word that the user core set for the message
 */
public record Received(long bytes, boolean endOfMessage, int offset, int user) {}
