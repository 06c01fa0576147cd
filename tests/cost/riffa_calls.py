#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What RIFFA's calls cost above the library's own: instructions a call, and bandwidth in simulated time. Prints figures and judges nothing.

    python tests/cost/riffa_calls.py [--libraries FOLDER]

Instructions are counted by callgrind (the package valgrind), without those of the simulated card, which both ways of calling need alike:
the difference of two runs of unlike length, so that opening cancels out. Bandwidth is that of 16 transactions of 64 KiB in one direction,
from the first packet with data to the last one, by the log of the link. One thread, so the figures repeat. The libraries are built, unless
there is a folder with libtowpath.so and libriffa.so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import ancestors  # noqa: E402
import clibrary  # noqa: E402

HERE = Path(__file__).resolve().parent
KINDS = ("riffa", "own")
ROUNDS = (20, 60)
# Calls of each direction in a round of `small`.
CALLS = 2
LARGE, BYTES = 16, 65536
# What is the simulated card's own work, by the function or the object that callgrind names.
SIMULATED = re.compile(r"towpath_sim|Verilat|Vl[A-Z]|anonymous namespace|/models/|\[/.*/towpath-[0-9a-f]{16}\]")


class Program:
    def __init__(self, folder: Path, libraries: Path) -> None:
        self.folder, self.path = folder, folder / "riffa_calls"
        command = [
            "cc",
            "-std=c11",
            "-D_GNU_SOURCE",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            str(HERE / "riffa_calls.c"),
            "-o",
            str(self.path),
        ]
        command += [f"-I{ROOT / 'bindings/c/include'}", f"-I{ROOT / 'bindings/riffa/include'}", f"-L{libraries}", "-lriffa", "-ltowpath"]
        subprocess.run([*command, f"-Wl,-rpath,{libraries}"], check=True)

    def run(self, device: str, *arguments: str | int, before: tuple[str, ...] = ()) -> None:
        command = [*before, str(self.path), *map(str, arguments)]
        done = subprocess.run(command, env={**os.environ, "TOWPATH_DEVICE": device}, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")

    def count(self, kind: str, function: str, rounds: int) -> int:
        """The library's own instructions below calls of a function."""
        out = self.folder / "callgrind.out"
        device = f"sim:{ROOT / 'tests/cores/transactions'}"
        before = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={function}")
        self.run(device, kind, "small", rounds, before=before)
        said = subprocess.run(["callgrind_annotate", "--threshold=100", str(out)], check=True, capture_output=True, text=True).stdout
        lines = re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (.+)$", said, re.M)
        return sum(int(number.replace(",", "")) for number, where in lines if "PROGRAM TOTALS" not in where and not SIMULATED.search(where))

    def instructions(self, kind: str, way: str) -> float:
        """Of one call."""
        few, many = (self.count(kind, f"{kind}_{way}", rounds) for rounds in ROUNDS)
        return (many - few) / ((ROUNDS[1] - ROUNDS[0]) * CALLS)

    def bandwidth(self, kind: str, way: str) -> float:
        """GB/s."""
        log = self.folder / "packets"
        self.run(f"sim:{HERE / 'riffa'}?packets={log}", kind, way, LARGE)
        packets = (json.loads(line) for line in log.read_text().splitlines())
        carries = "completion" if way == "send" else "write"
        times = [packet["ps"] for packet in packets if packet.get("packet") == carries and packet.get("bytes", 0) >= 64]
        return LARGE * BYTES / (times[-1] - times[0]) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=Path, help="a folder with libtowpath.so and libriffa.so, instead of building them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        libraries = options.libraries.absolute() if options.libraries else folder / "lib"
        if not options.libraries:
            clibrary.build(libraries)
            ancestors.build_riffa(libraries)
        program = Program(folder, libraries)
        for way in ("send", "recv"):
            theirs, ours = (program.instructions(kind, way) for kind in KINDS)
            print(f"fpga_{way}: {theirs - ours:.0f} instructions above the library's own call")
        both = program.instructions("both", "recv")
        print(f"fpga_recv: {theirs - both:.0f} instructions above the library's own two calls, of which the first tells the offset")
        for way in ("send", "recv"):
            theirs, ours = (program.bandwidth(kind, way) for kind in KINDS)
            print(f"fpga_{way}: {theirs:.3f} GB/s at 64 KiB, the library's own call {ours:.3f}: {100 * (theirs / ours - 1):+.1f} %")


if __name__ == "__main__":
    main()
