// SPDX-License-Identifier: Apache-2.0
package edu.ucsd.cs.riffa;

import java.nio.charset.StandardCharsets;

/** The cards that {@link Fpga#list} has found. A position counts from 0. */
public class FpgaInfo {
    private static final int CARDS = 5;
    private static final int NAME_BYTES = 16;
    static final int NUMBERS = 1 + 4 * CARDS;
    static final int NAMES = CARDS * NAME_BYTES;

    private final int[] numbers;
    private final byte[] names;

    FpgaInfo(int[] numbers, byte[] names) {
        this.numbers = numbers;
        this.names = names;
    }

    private int number(int kind, int pos) {
        if (pos < 0 || pos >= CARDS) {
            throw new IndexOutOfBoundsException("position " + pos + " of " + CARDS);
        }
        return numbers[1 + kind * CARDS + pos];
    }

    public int getNumFpgas() {
        return numbers[0];
    }

    /** The id for {@link Fpga#open}; -1: there is no card at this position. */
    public int getId(int pos) {
        return number(0, pos);
    }

    public int getNumChannels(int pos) {
        return number(1, pos);
    }

    public int getVendorId(int pos) {
        return number(2, pos);
    }

    public int getDeviceId(int pos) {
        return number(3, pos);
    }

    public String getName(int pos) {
        number(0, pos);
        String name = new String(names, pos * NAME_BYTES, NAME_BYTES, StandardCharsets.UTF_8);
        int end = name.indexOf('\0');
        return end < 0 ? name : name.substring(0, end);
    }

    @Override
    public String toString() {
        String end = System.lineSeparator();
        StringBuilder text = new StringBuilder("num fpgas: " + getNumFpgas() + end);
        for (int pos = 0; pos < getNumFpgas(); pos++) {
            text.append("id: ").append(getId(pos)).append(end);
            text.append("name: ").append(getName(pos)).append(end);
            text.append("num channels: ").append(getNumChannels(pos)).append(end);
            text.append("vendor id: ").append(Integer.toHexString(getVendorId(pos))).append(end);
            text.append("device id: ").append(Integer.toHexString(getDeviceId(pos))).append(end);
        }
        return text.toString();
    }
}
