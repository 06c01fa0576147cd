// SPDX-License-Identifier: Apache-2.0
package io.towpath;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** What the classes promise, over simulated cards. The argument is a seed; it prints each rule that holds. */
public final class Rules {
    private final long seed;

    private Rules(long seed) {
        this.seed = seed;
    }

    interface Act {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Rules rules = new Rules(Long.parseLong(arguments[0]));
        rules.holds("cards", rules::cards);
        rules.holds("pieces", rules::pieces);
        rules.holds("room", rules::room);
        rules.holds("threads", rules::threads);
        rules.holds("statuses", rules::statuses);
        rules.holds("closing", rules::closing);
        rules.holds("registers", rules::registers);
        rules.holds("memories", rules::memories);
    }

    private void holds(String name, Act rule) throws Exception {
        try {
            rule.run();
        } catch (Throwable why) {
            System.err.println(name + ", seed " + seed);
            why.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        System.out.println(name);
    }

    static void check(boolean so, String what) {
        if (!so) {
            throw new AssertionError(what);
        }
    }

    static void same(Object expected, Object is) {
        check(expected.equals(is), is + " instead of " + expected);
    }

    static TowpathException fails(Status status, Act act) throws Exception {
        try {
            act.run();
        } catch (TowpathException why) {
            same(status, why.status());
            same(status.ordinal(), why.number());
            check(!why.getMessage().isEmpty(), "a text");
            return why;
        }
        throw new AssertionError("no " + status);
    }

    /** A thread whose failure is the test's. */
    static final class Worker {
        private final AtomicReference<Throwable> why = new AtomicReference<>();
        private final Thread thread;

        Worker(Act act) {
            thread = new Thread(() -> {
                try {
                    act.run();
                } catch (Throwable failure) {
                    why.set(failure);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        boolean runs() {
            return thread.isAlive();
        }

        void join() throws Exception {
            thread.join();
            if (why.get() != null) {
                throw new Exception(why.get());
            }
        }
    }

    private void cards() throws Exception {
        check(!Card.version().isEmpty(), "a version");
        check(Card.list().stream().anyMatch(card -> card.name().equals("sim:loopback")), "the simulation is listed");
        try (Card card = Card.open("sim:loopback")) {
            Card.Info info = card.info();
            same("sim:loopback", info.name());
            same("loopback", info.core());
            same(1, info.interrupts());
            same(128, info.dataBits());
            List<Card.ChannelInfo> channels = card.channels();
            same(2, channels.size());
            same(List.of("in", "out"), channels.stream().map(Card.ChannelInfo::name).toList());
            same(List.of(true, false), channels.stream().map(Card.ChannelInfo::toCard).toList());
            same("stream", channels.get(0).kind());
            check(channels.get(0).queueDepth() > 0 && channels.get(1).bufferBytes() > 0, "sizes");
            card.reset();
        }
        String named = "teapot:schön\ud83e\uded6";
        check(fails(Status.UNKNOWN_SCHEME, () -> Card.open(named)).getMessage().contains(named), "any text comes through");
        same(22, fails(Status.UNKNOWN_SCHEME, () -> Card.open(named)).errorNumber());
        fails(Status.NO_SUCH_DEVICE, () -> Card.open("sim:no_such_core"));
    }

    // A part of a larger buffer of a random kind, filled with some bytes.
    private static ByteBuffer buffer(Random random, byte[] filled, boolean mayBeReadOnly) {
        int before = random.nextInt(9);
        int size = before + filled.length + random.nextInt(9);
        ByteBuffer buffer = random.nextBoolean() ? ByteBuffer.allocateDirect(size) : ByteBuffer.allocate(size);
        if (random.nextBoolean()) { // with an array, or an address, that begins earlier
            int cut = random.nextInt(before + 1);
            buffer = buffer.position(cut).slice();
            before -= cut;
        }
        buffer.position(before).put(filled).flip().position(before);
        return mayBeReadOnly && random.nextBoolean() ? buffer.asReadOnlyBuffer() : buffer;
    }

    private static byte[] rest(ByteBuffer buffer, int from, int bytes) {
        byte[] data = new byte[bytes];
        for (int n = 0; n < bytes; n++) {
            data[n] = buffer.get(from + n);
        }
        return data;
    }

    /** A message for which the heap has no room is still there when it has. The heap must be small. */
    private void room() throws Exception {
        byte[] message = new byte[1 << 20];
        new Random(seed).nextBytes(message);
        try (Card card = Card.open("sim:loopback")) {
            Receiver out = card.receiver("out");
            Worker sending = new Worker(() -> {
                try {
                    card.sender("in").send(ByteBuffer.wrap(message), Attributes.NONE.withUser(9), Channel.FOREVER);
                } catch (OutOfMemoryError behindIt) {
                    // This thread may be the one that finds no room; whether the message was sent whole is seen below.
                }
            });
            Duration limit = Duration.ofSeconds(20);
            List<byte[]> full = new ArrayList<>();
            boolean refused = false;
            Message got = null;
            out.waitMessageStart(limit);
            try {
                while (true) {
                    full.add(new byte[64 << 10]);
                }
            } catch (OutOfMemoryError expected) {
                // Nothing here may ask for any.
                full.remove(full.size() - 1);
            }
            // Until the call has received it all: there may be too little for its own small objects, too.
            while (got == null && (sending.runs() || !refused)) {
                try {
                    got = out.receiveMessage(limit);
                } catch (OutOfMemoryError expected) {
                    refused = true;
                    full.remove(full.size() - 1);
                }
            }
            full.clear();
            check(refused, "there was room: give java a smaller heap");
            if (got == null) {
                got = out.receiveMessage(limit);
            }
            check(Arrays.equals(message, got.data()) && got.user() == 9, "the message");
            sending.join();
        }
    }

    // One thread sends messages in random parts from random kinds of memory, another receives them in others.
    private void pieces() throws Exception {
        int messages = 60;
        Random plan = new Random(seed);
        List<byte[]> data = new ArrayList<>();
        for (int n = 0; n < messages; n++) {
            byte[] message = new byte[plan.nextInt(4) == 0 ? plan.nextInt(40_000) : plan.nextInt(70)];
            plan.nextBytes(message);
            data.add(message);
        }
        try (Card card = Card.open("sim:loopback")) {
            Sender in = card.sender("in");
            Receiver out = card.receiver("out");
            Worker sending = new Worker(() -> {
                Random random = new Random(seed + 1);
                for (int n = 0; n < messages; n++) {
                    byte[] message = data.get(n);
                    Attributes attributes = Attributes.NONE.withUser(n).withOffset(7 * n).withLength(message.length);
                    int at = 0;
                    do {
                        int part = random.nextInt(3) == 0 ? random.nextInt(message.length - at + 1) : message.length - at;
                        Attributes with = at + part < message.length ? attributes.andMore() : attributes;
                        if (random.nextInt(4) == 0) {
                            same((long) part, in.send(message, at, part, with, Channel.FOREVER));
                        } else {
                            ByteBuffer from = buffer(random, Arrays.copyOfRange(message, at, at + part), true);
                            in.send(from, with, Duration.ofSeconds(20));
                            same(0, from.remaining());
                        }
                        at += part;
                    } while (at < message.length);
                }
            });
            Random random = new Random(seed + 2);
            for (int n = 0; n < messages; n++) {
                byte[] message = data.get(n);
                if (random.nextInt(4) == 0) {
                    MessageStart start = out.waitMessageStart(Channel.FOREVER).orElseThrow();
                    // A length of 0 announces none.
                    same(message.length == 0 ? OptionalLong.empty() : OptionalLong.of(message.length), start.length());
                    same(n, start.user());
                }
                if (random.nextInt(3) == 0) {
                    Message whole = random.nextBoolean() ? out.receiveMessage() : out.receiveMessage(Duration.ofSeconds(20));
                    check(Arrays.equals(message, whole.data()), "message " + n);
                    same(n, whole.user());
                    same(7 * n, whole.offset());
                    continue;
                }
                for (int at = 0;;) {
                    int room = 1 + random.nextInt(random.nextBoolean() ? 60_000 : 50);
                    Received received;
                    byte[] came;
                    if (random.nextInt(3) == 0) {
                        byte[] into = new byte[room + 5];
                        received = out.receive(into, 5, room, null);
                        came = Arrays.copyOfRange(into, 5, 5 + (int) received.bytes());
                        for (int k = 0; k < 5; k++) {
                            same((byte) 0, into[k]);
                        }
                    } else {
                        ByteBuffer into = buffer(random, new byte[room], false);
                        int first = into.position();
                        received = out.receive(into);
                        same(received.bytes(), (long) into.position() - first);
                        came = rest(into, first, (int) received.bytes());
                        for (int k = into.position(); k < into.limit(); k++) {
                            same((byte) 0, into.get(k));
                        }
                    }
                    check(Arrays.equals(Arrays.copyOfRange(message, at, at + came.length), came), "message " + n + " at " + at);
                    at += came.length;
                    if (received.endOfMessage()) {
                        same(message.length, at);
                        same(n, received.user());
                        same(7 * n, received.offset());
                        break;
                    }
                }
            }
            sending.join();
        }
    }

    // Three threads send, three receive: each message comes whole, and once.
    private void threads() throws Exception {
        int each = 40;
        AtomicInteger left = new AtomicInteger(3 * each);
        ConcurrentHashMap<Integer, Integer> seen = new ConcurrentHashMap<>();
        try (Card card = Card.open("sim:loopback")) {
            Sender in = card.sender("in");
            Receiver out = card.receiver("out");
            List<Worker> workers = new ArrayList<>();
            for (int t = 0; t < 3; t++) {
                int thread = t;
                workers.add(new Worker(() -> {
                    for (int n = 0; n < each; n++) {
                        int tag = thread * each + n;
                        in.send(ByteBuffer.wrap(tagged(tag)), Attributes.NONE.withUser(tag), Channel.FOREVER);
                    }
                }));
                workers.add(new Worker(() -> {
                    while (left.getAndDecrement() > 0) {
                        Message message = out.receiveMessage(Channel.FOREVER);
                        check(Arrays.equals(tagged(message.user()), message.data()), "bytes of message " + message.user());
                        seen.merge(message.user(), 1, Integer::sum);
                    }
                }));
            }
            for (Worker worker : workers) {
                worker.join();
            }
            same(3 * each, seen.size());
            check(seen.values().stream().allMatch(n -> n == 1), "each once");
        }
    }

    private byte[] tagged(int tag) {
        Random random = new Random(seed ^ tag);
        byte[] data = new byte[random.nextInt(random.nextBoolean() ? 6000 : 60)];
        random.nextBytes(data);
        return data;
    }

    private void statuses() throws Exception {
        Duration soon = Duration.ofMillis(1);
        try (Card card = Card.open("sim:loopback")) {
            check(fails(Status.NO_SUCH_CHANNEL, () -> card.sender("nowhere")).getMessage().contains("nowhere"), "the channel's name");
            fails(Status.WRONG_DIRECTION, () -> card.receiver("in"));
            Sender in = card.sender("in");
            Receiver out = card.receiver("out");
            fails(Status.CHANNEL_IN_USE, () -> card.sender("in"));
            same(Duration.ofSeconds(10), out.timeout());
            out.setTimeout(soon);
            same(soon, out.timeout());
            same(0L, fails(Status.TIMEOUT, () -> out.receive(new byte[10])).moved());
            same(Optional.empty(), out.waitMessageStart(Duration.ZERO));
            // A part came before the limit was over: the buffer says how much, and the next call goes on behind it.
            byte[] part = new byte[1000];
            new Random(seed).nextBytes(part);
            for (ByteBuffer into : List.of(ByteBuffer.allocateDirect(3000), ByteBuffer.allocate(3000))) {
                in.send(part, 0, 1000, Attributes.NONE.andMore(), null);
                into.position(3);
                TowpathException late = fails(Status.TIMEOUT, () -> out.receive(into));
                same(110, late.errorNumber());
                same(late.moved(), into.position() - 3L);
                check(late.moved() > 800 && late.moved() <= 1000, "all but less than a packet");
                check(into.get(into.position()) == 0, "no more");
                in.send(part);
                same(new Received(2000 - late.moved(), true, 0, 0), out.receive(into));
                check(Arrays.equals(part, rest(into, 3, 1000)) && Arrays.equals(part, rest(into, 1003, 1000)), "both parts");
            }
            // What the card cannot hold: the buffer says how far it came.
            ByteBuffer much = ByteBuffer.allocateDirect(1 << 20);
            TowpathException full = fails(Status.TIMEOUT, () -> in.send(much, Attributes.NONE, soon));
            check(full.moved() > 0 && full.moved() < 1 << 20, "a part was taken: " + full.moved());
            same(full.moved(), (long) much.position());
            in.reset();
            out.reset();
            out.setTimeout(Channel.FOREVER);
            same(Channel.FOREVER, out.timeout());
            in.send("whole".getBytes());
            same("whole", new String(out.receiveMessage().data()));
            try {
                out.receive(new byte[3], 1, 3, null);
                throw new AssertionError("beyond the array's end");
            } catch (IndexOutOfBoundsException expected) {
                check(!in.name().isEmpty(), "a name");
            }
            try {
                in.send(ByteBuffer.allocate(1), Attributes.NONE, Duration.ofSeconds(-1));
                throw new AssertionError("a negative limit");
            } catch (IllegalArgumentException expected) {
                check(in.card() == card, "the card");
            }
        }
    }

    private void closing() throws Exception {
        Card card = Card.open("sim:loopback");
        Sender in = card.sender("in");
        for (int round = 0; round < 6; round++) {
            Receiver out = card.receiver("out");
            boolean direct = round % 2 == 0;
            ByteBuffer into = direct ? ByteBuffer.allocateDirect(1 << 16) : ByteBuffer.allocate(1 << 16);
            in.send(new byte[100], 0, 100, Attributes.NONE.andMore(), null);
            Worker receiving = new Worker(() -> {
                TowpathException why = fails(Status.CANCELLED, () -> out.receive(into, Channel.FOREVER));
                same(why.moved(), (long) into.position());
                check(why.moved() <= 100, "no more than was sent");
            });
            Thread.sleep(new Random(seed + round).nextInt(20));
            if (round < 4) {
                while (receiving.runs()) { // a cancel before it waits ends nothing
                    out.cancel();
                    Thread.sleep(1);
                }
                receiving.join();
                // No byte was lost.
                in.send(new byte[50]);
                long came = into.position();
                for (;;) {
                    Received next = out.receive(new byte[64]);
                    came += next.bytes();
                    if (next.endOfMessage()) {
                        break;
                    }
                }
                same(150L, came);
            } else {
                Thread.sleep(30); // so that it waits
                out.close();
                receiving.join();
                in.reset();
            }
            out.close();
            fails(Status.INVALID, () -> out.receive(new byte[1]));
        }
        Receiver out = card.receiver("out");
        Worker receiving = new Worker(() -> fails(Status.CANCELLED, () -> out.receive(new byte[10], 0, 10, Channel.FOREVER)));
        Thread.sleep(30);
        card.close();
        receiving.join();
        card.close();
        fails(Status.INVALID, () -> card.now());
        fails(Status.INVALID, () -> card.sender("in"));
        fails(Status.INVALID, () -> in.send(new byte[1]));
        Card.open("sim:loopback").close();
    }

    private void registers() throws Exception {
        try (Card card = Card.open("sim:loopback")) {
            Registers registers = card.registers();
            same(List.of("bytes_high", "bytes_low", "faults", "id", "messages", "scratch"), registers.names().stream().sorted().toList());
            registers.write("scratch", 0xdeadbeef);
            same(0xdeadbeef, registers.read(4));
            registers.write(4, 12);
            same(12, registers.read("scratch"));
            fails(Status.INVALID, () -> registers.read("no such"));
            fails(Status.REGISTER, () -> registers.read(3));
            fails(Status.INTERRUPT_TIMEOUT, () -> card.waitInterrupt(0, Duration.ofMillis(1)));
            Duration before = card.now();
            card.sender("in").send("x".getBytes());
            same(1, card.waitInterrupt(0, Duration.ofSeconds(1)));
            same(1, card.countInterrupt(0));
            check(card.now().compareTo(before) > 0, "time passes");
            fails(Status.INVALID, () -> card.waitInterrupt(1, Duration.ZERO));
        }
    }

    // Two threads read and write a half each, and compare with what they wrote.
    private void memories() throws Exception {
        try (Card card = Card.open("sim:scratchpad")) {
            Memory ram = card.memory("ram");
            same(1L << 20, ram.size());
            List<Worker> workers = new ArrayList<>();
            for (int t = 0; t < 2; t++) {
                long base = t * (ram.size() / 2);
                Random random = new Random(seed + 10 + t);
                workers.add(new Worker(() -> {
                    byte[] model = new byte[8192];
                    ram.write(base, model);
                    for (int round = 0; round < 40; round++) {
                        int at = random.nextInt(model.length);
                        byte[] data = new byte[random.nextInt(model.length - at + 1)];
                        random.nextBytes(data);
                        if (random.nextBoolean()) {
                            ByteBuffer from = buffer(random, data, true);
                            ram.write(base + at, from, null);
                            same(0, from.remaining());
                            System.arraycopy(data, 0, model, at, data.length);
                        } else {
                            ByteBuffer into = buffer(random, new byte[data.length], false);
                            int first = into.position();
                            ram.read(base + at, into, Channel.FOREVER);
                            same(first + data.length, into.position());
                            byte[] expected = Arrays.copyOfRange(model, at, at + data.length);
                            check(Arrays.equals(expected, rest(into, first, data.length)), "memory at " + at);
                        }
                    }
                    check(Arrays.equals(model, ram.read(base, model.length)), "in the end");
                }));
            }
            for (Worker worker : workers) {
                worker.join();
            }
            fails(Status.INVALID, () -> ram.read(ram.size() - 1, 2));
            fails(Status.CHANNEL_IN_USE, () -> card.memory("ram"));
            card.registers().write("slverr_page", 3);
            ByteBuffer into = ByteBuffer.allocateDirect(8192);
            TowpathException why = fails(Status.KIND, () -> ram.read(3 * 4096 - 512, into, null));
            same(why.moved(), (long) into.position());
            check(why.moved() <= 512, "only what came before the page");
            ram.close();
            ram.close();
            fails(Status.INVALID, () -> ram.read(0, 1));
        }
    }
}
