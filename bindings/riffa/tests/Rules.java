// SPDX-License-Identifier: Apache-2.0
// The class Fpga over tests/cores/transactions: each of its calls, with what it returns.
import edu.ucsd.cs.riffa.Fpga;
import edu.ucsd.cs.riffa.FpgaInfo;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;

public class Rules {
    private static void returns(int expected, int returned) {
        if (returned != expected) {
            throw new AssertionError(returned + " instead of " + expected);
        }
    }

    private static ByteBuffer direct(int words) {
        return ByteBuffer.allocateDirect(4 * words).order(ByteOrder.LITTLE_ENDIAN);
    }

    public static void main(String[] arguments) throws InterruptedException {
        FpgaInfo info = Fpga.list();
        System.out.print(info);
        returns(1, info.getNumFpgas());
        returns(3, info.getNumChannels(0));
        returns(-1, info.getId(4));
        if (Fpga.open(1) != null || !info.getName(4).isEmpty()) {
            throw new AssertionError("there is one card");
        }
        Fpga fpga = Fpga.open(info.getId(0));
        ByteBuffer data = direct(200);
        ByteBuffer got = direct(300);
        IntBuffer words = data.asIntBuffer();
        for (int n = 0; n < 200; n++) {
            words.put(n, -n);
        }
        returns(200, fpga.send(0, data, 200, 7, false, 0));
        returns(200, fpga.send(0, data, 1000, 0, true, 0)); // as many as it has
        returns(200, fpga.recv(0, got, 0));
        for (int n = 0; n < 300; n++) {
            int at = n < 7 ? 0 : (n - 7) % 200;
            returns(n < 7 ? 0 : -at, got.asIntBuffer().get(n));
        }
        returns(0, fpga.send(0, null, 0, 0, true, 0));
        returns(0, fpga.recv(0, got, 0));
        returns(0, fpga.recv(0, got, 1));
        returns(0, fpga.send(3, data, 1, 0, true, 0));
        returns(-22, fpga.send(0, data, -1, 0, true, 0));
        try {
            fpga.recv(0, ByteBuffer.allocate(16), 1);
            throw new AssertionError("memory on Java's heap");
        } catch (RuntimeException expected) {
            System.out.println(expected.getMessage());
        }
        // One thread sends while another receives, on two channels at once.
        Thread[] threads = new Thread[4];
        for (int n = 0; n < 4; n++) {
            int chnl = n / 2;
            boolean sends = n % 2 == 0;
            threads[n] = new Thread(() -> {
                ByteBuffer memory = direct(1 << 14);
                for (int round = 0; round < 4; round++) {
                    returns(1 << 14, sends ? fpga.send(chnl, memory, 1 << 14, 0, true, 0) : fpga.recv(chnl, memory, 0));
                }
            });
            threads[n].setUncaughtExceptionHandler((thread, why) -> {
                why.printStackTrace();
                Runtime.getRuntime().halt(1);
            });
            threads[n].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        fpga.reset();
        fpga.close();
        returns(0, fpga.send(0, data, 1, 0, true, 0));
        System.out.println("done");
    }
}
