// SPDX-License-Identifier: Apache-2.0
// The demo in Java: a picture goes through the core "sobel" and comes back as its edges, which are compared with the same filter here.
//
//     java -cp towpath.jar Edges.java [PICTURE [RESULT]]
//
// PICTURE is a PNG or a JPEG; without it one is drawn. The card is what TOWPATH_DEVICE names, or else the simulation.
import io.towpath.Card;
import io.towpath.Receiver;
import io.towpath.Sender;
import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import javax.imageio.ImageIO;

public class Edges {
    /** A ring and a slope, where none is given. */
    static BufferedImage drawn() {
        var picture = new BufferedImage(320, 200, BufferedImage.TYPE_BYTE_GRAY);
        for (int y = 0; y < 200; y++) {
            for (int x = 0; x < 320; x++) {
                double away = Math.hypot(x - 160, y - 100);
                picture.getRaster().setSample(x, y, 0, away > 50 && away < 80 ? 230 : x / 2);
            }
        }
        return picture;
    }

    /** As the core computes it: |gx| + |gy|, at most 255, and 0 on the border. */
    static int sobel(int[][] p, int x, int y) {
        if (x == 0 || y == 0 || y == p.length - 1 || x == p[0].length - 1) {
            return 0;
        }
        int gx = p[y - 1][x + 1] + 2 * p[y][x + 1] + p[y + 1][x + 1] - p[y - 1][x - 1] - 2 * p[y][x - 1] - p[y + 1][x - 1];
        int gy = p[y + 1][x - 1] + 2 * p[y + 1][x] + p[y + 1][x + 1] - p[y - 1][x - 1] - 2 * p[y - 1][x] - p[y - 1][x + 1];
        return Math.min(255, Math.abs(gx) + Math.abs(gy));
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        BufferedImage picture = arguments.length > 0 ? ImageIO.read(new File(arguments[0])) : drawn();
        int width = picture.getWidth();
        int height = picture.getHeight();
        int[][] grey = new int[height][width];
        ByteBuffer pixels = ByteBuffer.allocateDirect(width * height);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int rgb = picture.getRGB(x, y);
                grey[y][x] = ((rgb >> 16 & 255) * 77 + (rgb >> 8 & 255) * 150 + (rgb & 255) * 29) >> 8;
                pixels.put((byte) grey[y][x]);
            }
        }
        pixels.flip();
        ByteBuffer edges = ByteBuffer.allocateDirect(width * height);

        String named = System.getenv("TOWPATH_DEVICE");
        try (Card card = Card.open(named == null || named.isEmpty() ? "sim:sobel" : named)) {
            card.registers().write("width", width);
            Sender sender = card.sender("pixels");
            Receiver receiver = card.receiver("edges");
            // Both directions at once: the card holds only a part of the picture.
            Thread sending = new Thread(() -> sender.send(pixels));
            sending.start();
            receiver.receive(edges);
            sending.join();
        }

        var result = new BufferedImage(width, height, BufferedImage.TYPE_BYTE_GRAY);
        int wrong = 0;
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int edge = edges.get(y * width + x) & 255;
                wrong += edge == sobel(grey, x, y) ? 0 : 1;
                result.getRaster().setSample(x, y, 0, edge);
            }
        }
        if (arguments.length > 1) {
            ImageIO.write(result, "png", new File(arguments[1]));
        }
        System.out.println(width + " x " + height + " pixels, " + wrong + " wrong");
        System.exit(wrong == 0 ? 0 : 1);
    }
}
