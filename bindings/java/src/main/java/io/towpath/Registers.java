// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.util.ArrayList;
import java.util.List;

/** The user core's registers, of 32 bits, by byte offset (a multiple of 4) or by name. Names are known in simulation. */
public final class Registers {
    private final Card of;
    private final long card;

    Registers(Card of) {
        this.of = of;
        this.card = of.handle;
    }

    /** The names that are known. */
    public List<String> names() {
        List<String> names = new ArrayList<>();
        for (byte[] name : of.told(() -> Native.registers(card))) {
            names.add(Native.text(name));
        }
        return names;
    }

    public int read(int offset) {
        return Native.readRegister(card, offset);
    }

    public void write(int offset, int value) {
        Native.writeRegister(card, offset, value);
    }

    public int read(String name) {
        return Native.readRegisterName(card, Native.text(name));
    }

    public void write(String name, int value) {
        Native.writeRegisterName(card, Native.text(name), value);
    }
}
