# SPDX-License-Identifier: Apache-2.0
"""What the cores' benches share: building a core with Verilator from its manifest, and driving its ports at random paces.

A bench is one file: cocotb tests, and one pytest function which runs them at several widths. `pytest cores/loopback` runs one core's.
"""

import inspect
import os
import random
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotb_tools.runner import get_runner
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

WIDTHS = [64, 128]


def run(width: int, top: str | None = None, more: Sequence[Path] = ()) -> None:
    """Run the cocotb tests of the calling file on the core two folders up, at this data width. TOWPATH_SEED replays a run.

    With `top`, on that module instead, which is in one of the sources `more`.
    """
    seed = os.environ.get("TOWPATH_SEED") or str(random.SystemRandom().randrange(1 << 31))
    print(f"{width} bit: replay with TOWPATH_SEED={seed}", flush=True)
    bench = Path(inspect.stack()[1].filename)
    folder = bench.parent.parent
    manifest = tomllib.loads((folder / "towpath.toml").read_text())
    core = manifest["core"]
    out = Path(os.environ.get("TOWPATH_SIM_BUILD", folder / "sim_build")) / f"{core['name']}-{width}"
    runner = get_runner("verilator")
    runner.build(
        sources=[*(folder / s for s in core["sources"]), *more],
        hdl_toplevel=top or core["top"],
        parameters={"DATA_WIDTH": width, **manifest.get("parameters", {})},
        # Short runs: Verilator's runtime compiles in a third of the time without optimisation.
        build_args=["-Wall", "--assert", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_GLOBAL=-O0"],
        build_dir=out,
        timescale=("1ns", "1ps"),
        always=True,
    )
    # The simulation finds its modules where this process does.
    sys.path.insert(0, str(bench.parent))
    runner.test(
        hdl_toplevel=top or core["top"],
        test_module=bench.stem,
        build_dir=out,
        test_dir=out,
        results_xml=str(out / "results.xml"),
        seed=seed,
        extra_env={"COCOTB_LOG_LEVEL": "WARNING"},
    )


async def start(dut) -> AxiLiteMaster | None:
    """Clock, idle inputs and reset; returns the registers' master if the core has any."""
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    for name in dir(dut):
        if name.endswith(("_tvalid", "_tready", "_tlast", "_error", "_reset", "irq_ready")):
            getattr(dut, name).value = 0  # outputs among them soon tell their own
    dut.rst_n.value = 0
    master = None
    if hasattr(dut, "s_axil_awaddr"):
        master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst_n, reset_active_level=False)
        master.write_if.log.setLevel("WARNING")
        master.read_if.log.setLevel("WARNING")
    await ClockCycles(dut.clk, 4)
    dut.rst_n.value = 1
    await ClockCycles(dut.clk, 2)
    return master


async def send(dut, prefix: str, message: bytes, busy: float = 1.0, late_end: bool = False, error: int = 0) -> None:
    """Put one message on a stream; in each cycle a beat is offered with probability `busy`.

    With `late_end`, the end of a message that fills its last beat comes in a beat of its own.
    """
    port = {s: getattr(dut, f"{prefix}_{s}") for s in ("tdata", "tkeep", "tlast", "tvalid", "tready")}
    fault = getattr(dut, f"{prefix}_error", None)
    keep = len(port["tkeep"])
    beats = [message[i : i + keep] for i in range(0, len(message), keep)]
    if not beats or (late_end and len(beats[-1]) == keep):
        beats.append(b"")
    for n, beat in enumerate(beats):
        while random.random() >= busy:
            await RisingEdge(dut.clk)
        last = n == len(beats) - 1
        # Lanes that do not count hold rubbish.
        port["tdata"].value = int.from_bytes(beat + random.randbytes(keep - len(beat)), "little")
        port["tkeep"].value = (1 << len(beat)) - 1
        port["tlast"].value = last
        if fault is not None:
            fault.value = error if last else 0
        port["tvalid"].value = 1
        await RisingEdge(dut.clk)
        while not port["tready"].value:
            await RisingEdge(dut.clk)
        port["tvalid"].value = 0


class Receiver:
    """Takes beats from a stream with probability `ready` in each cycle and checks the stream's rules; `messages` holds what came.

    `extras` names signals beside the stream that are noted with the first beat of each message.
    """

    def __init__(self, dut, prefix: str, ready: float = 1.0, extras: tuple[str, ...] = ()):
        self.dut, self.prefix, self.ready, self.extras = dut, prefix, ready, extras
        self.messages: list[bytes] = []
        self.noted: list[dict[str, int]] = []
        self.beats = self.stalls = 0
        self.task = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        port = {s: getattr(self.dut, f"{self.prefix}_{s}") for s in ("tdata", "tkeep", "tlast", "tvalid", "tready")}
        keep = len(port["tkeep"])
        bytes_so_far = bytearray()
        begins = True
        held = None
        while True:
            port["tready"].value = random.random() < self.ready
            await RisingEdge(self.dut.clk)
            if not port["tvalid"].value:
                assert held is None, f"{self.prefix}: a beat was taken back before it was accepted"
                self.stalls += bool(bytes_so_far)
                continue
            lanes, last = int(port["tkeep"].value), bool(port["tlast"].value)
            beat = (lanes, last, int(port["tdata"].value))
            assert held is None or held == beat, f"{self.prefix}: a beat changed while it waited"
            held = beat
            if not port["tready"].value:
                continue
            held = None
            assert lanes & (lanes + 1) == 0, f"{self.prefix}: tkeep {lanes:#x} is not 2^n - 1"
            assert last or lanes == (1 << keep) - 1, f"{self.prefix}: tkeep {lanes:#x} in the middle of a message"
            if begins:
                self.noted.append({e: int(getattr(self.dut, f"{self.prefix}_{e}").value) for e in self.extras})
            bytes_so_far += beat[2].to_bytes(keep, "little")[: lanes.bit_length()]
            self.beats += 1
            begins = last
            if last:
                self.messages.append(bytes(bytes_so_far))
                bytes_so_far.clear()

    async def wait(self, count: int, cycles: int = 200_000) -> list[bytes]:
        """Wait until so many messages have come in all."""
        for _ in range(cycles):
            if len(self.messages) >= count:
                return self.messages
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{self.prefix}: {len(self.messages)} of {count} messages came in {cycles} cycles")


class Interrupts:
    """Takes interrupts with probability `ready` in each cycle and counts them."""

    def __init__(self, dut, ready: float = 0.3):
        self.count = 0
        self.task = cocotb.start_soon(self._run(dut, ready))

    async def _run(self, dut, ready: float) -> None:
        while True:
            dut.irq_ready.value = random.random() < ready
            await RisingEdge(dut.clk)
            self.count += bool(dut.irq_valid.value) and bool(dut.irq_ready.value)


def random_length(most: int) -> int:
    """Log-uniform from 0, with many around multiples of the beats."""
    if random.random() < 0.3:
        return max(0, 64 * random.randint(0, most // 64) + random.randint(-2, 2))
    return int(2 ** random.uniform(0, most.bit_length())) % (most + 1)
