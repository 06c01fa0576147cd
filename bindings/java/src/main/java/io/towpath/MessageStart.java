// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.util.OptionalLong;

/**
 * What the user core announces of a message that it has begun.
 *
 * @param length its bytes, if the core tells
 * @param offset what the user core set for it
 * @param user the user word that the user core set for it
 */
public record MessageStart(OptionalLong length, int offset, int user) {}
