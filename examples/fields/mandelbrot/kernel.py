# SPDX-License-Identifier: Apache-2.0
"""The kernel: how many steps a point of the complex plane takes to leave the circle of radius 2, by z := z * z + c from 0, at most 255.

It is plain Python, which Polyphony makes Verilog of; numbers have 12 bits behind the point. Each loop's pass becomes one clock.
"""

from polyphony import module
from polyphony.io import Queue
from polyphony.typing import int32


@module
class Mandelbrot:
    def __init__(self):
        self.points = Queue(int32, "in", maxsize=2)
        self.counts = Queue(int32, "out", maxsize=2)
        self.append_worker(self.work, self.points, self.counts)

    def work(self, points, counts):
        while True:
            cx = points.rd()
            cy = points.rd()
            x = 0
            y = 0
            n = 0
            while n < 255:
                xx = (x * x) >> 12
                yy = (y * y) >> 12
                if xx + yy > 16384:
                    break
                y = ((x * y) >> 11) + cy
                x = xx - yy + cx
                n += 1
            counts.wr(n)


kernel = Mandelbrot()
