# SPDX-License-Identifier: Apache-2.0
"""The examples from users' fields: each program runs, and each core does with random data what its description says."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import towpath

FIELDS = Path(__file__).resolve().parents[3] / "examples" / "fields"
needs_ghdl = pytest.mark.skipif(shutil.which(os.environ.get("TOWPATH_GHDL", "ghdl")) is None, reason="no GHDL here, which reads VHDL")
NAMES = ["aes", "fft", pytest.param("fir", marks=needs_ghdl), "mandelbrot", "matrix", "packets"]


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fields_{name}", FIELDS / name / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def seed() -> Iterator[int]:
    seed = int(os.environ.get("TOWPATH_SEED") or random.randrange(1 << 32))
    print(f"replay with TOWPATH_SEED={seed}")
    yield seed


@pytest.mark.parametrize("name", NAMES)
def test_the_program_runs(name: str) -> None:
    done = subprocess.run([sys.executable, FIELDS / name / f"{name}.py"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout and "WRONG" not in done.stdout


def end_late(channel: towpath.Channel, data: bytes) -> None:
    """A message whose end comes when its last byte has gone."""
    channel.send(data, end=False)
    channel.send(b"")


def test_aes(seed: int) -> None:
    """Lengths that fill no block, offsets, counters that overflow, a reset in the middle of a message."""
    aes, rng = program("aes"), random.Random(seed)
    with towpath.open(f"sim:{FIELDS / 'aes'}") as card:
        for n in range(30):
            key, counter = rng.randbytes(16), rng.choice([rng.randbytes(16), b"\xff" * 15 + b"\xfe"])
            text = rng.randbytes(rng.choice([0, 1, 15, 16, 17, rng.randrange(600)]))
            offset = 16 * rng.choice([0, 1, rng.randrange(1 << 40)])
            aes.set_key(card, key, counter)
            if n % 7 == 6:
                card["in"].send(rng.randbytes(100), end=False)
                card["in"].reset()
                card["out"].reset()
            assert aes.through(card, text, offset) == aes.reference(key, counter, text, offset)
            end_late(card["in"], text)
            assert card["out"].recv() == aes.reference(key, counter, text)


def test_fft(seed: int) -> None:
    """Blocks of noise, of the largest numbers and of few tones, several in a message; the last one may be short."""
    fft, rng = program("fft"), np.random.default_rng(seed)
    edges = np.array([-32768, 32767])
    with towpath.open(f"sim:{FIELDS / 'fft'}") as card:
        for n in range(6):
            shape = (rng.integers(1, 4), fft.POINTS)
            parts = [rng.choice(edges, shape) if n % 3 == 0 else rng.integers(-32768, 32768, shape) for _ in range(2)]
            blocks = parts[0] + 1j * parts[1]
            if n % 3 == 2:  # a tone as loud as it goes
                turns = np.exp(2j * np.pi * rng.integers(0, fft.POINTS) * np.arange(fft.POINTS) / fft.POINTS)
                blocks = np.round(32767 * turns)[None]
            assert abs(fft.transform(card, blocks) - fft.exact(blocks)).max() <= fft.BOUND

        def ends(count: int) -> np.ndarray:
            """What a message of the first samples of a block gives, alone and with a late end."""
            short = np.stack([blocks[0].real, blocks[0].imag], axis=-1).astype("<i2")[:count]
            results = []
            for send in (towpath.Channel.send, end_late):
                send(card["time"], short.tobytes())
                results.append(card["frequency"].recv())
            assert results[0] == results[1]
            return np.frombuffer(results[0], "<i2").reshape(-1, 2)

        for count in (int(rng.integers(1, fft.POINTS)), fft.POINTS):
            got = ends(count)
            padded = np.where(np.arange(fft.POINTS) < count, blocks[0], 0)
            assert abs((got[:, 0] + 1j * got[:, 1])[fft.places()] - fft.exact(padded)).max() <= fft.BOUND
        assert len(ends(0)) == 0


@needs_ghdl
def test_fir(seed: int) -> None:
    """Any coefficients and samples, sums that overflow among them; nothing of a message is left for the next."""
    fir, rng = program("fir"), np.random.default_rng(seed)
    most = [-32768, 32767]
    with towpath.open(f"sim:{FIELDS / 'fir'}") as card:
        for n in range(30):
            draw = (lambda size: rng.choice(most, size)) if n % 3 == 0 else (lambda size: rng.integers(-32768, 32768, size))
            taps, samples = draw(fir.TAPS).astype("<i2"), draw(rng.integers(1, 200)).astype("<i2")
            if n % 3 == 1:
                taps >>= 4
            fir.set_coefficients(card, taps)
            assert (fir.through(card, samples) == fir.reference(taps, samples)).all()
            end_late(card["samples"], samples.tobytes())
            assert card["filtered"].recv() == fir.reference(taps, samples).tobytes()


def test_mandelbrot(seed: int) -> None:
    mandelbrot, rng = program("mandelbrot"), np.random.default_rng(seed)
    with towpath.open(f"sim:{FIELDS / 'mandelbrot'}") as card:
        c = rng.integers(-3 << 12, 3 << 12, (150, 2)).astype("<i4")
        assert (mandelbrot.steps(card, c) == mandelbrot.reference(c)).all()


@pytest.mark.skipif(shutil.which("polyphony") is None, reason="no Polyphony here: pip install polyphony==0.3.6")
def test_the_kernel_is_what_polyphony_makes() -> None:
    assert program("mandelbrot").synthesised() == (FIELDS / "mandelbrot/kernel.v").read_text()


def test_matrix(seed: int) -> None:
    """Shapes that fill no beat, one row or many, the most columns, matrices over several bursts; resets; then one that is none."""
    matrix, rng = program("matrix"), np.random.default_rng(seed)
    with towpath.open(f"sim:{FIELDS / 'matrix'}") as card:
        for n in range(12):
            columns = int(rng.choice(np.array([1, 15, 16, 17, 4096, rng.integers(1, 1000)])))
            rows = int(rng.integers(1, min(100, 65536 // (-(-columns // 16) * 16)) + 1))
            least, most = (-128, 128) if n % 3 else (-128, -127)  # the largest sums, too
            a = rng.integers(least, most, (rows, columns)).astype(np.int8)
            b = rng.integers(least, most, (columns, int(rng.integers(1, 6)))).astype(np.int8)
            matrix.set_weights(card, a)
            assert (matrix.multiply(card, rows, b) == a.astype(int) @ b.astype(int)).all()
        assert card.registers["faults"] == 0
        for n in range(12):  # resets in the middle of a message, while the matrix is read or not: nothing of it is left for the next
            columns, rows = int(rng.integers(1, 800)), int(rng.integers(1, 60))
            a = rng.integers(-128, 128, (rows, columns)).astype(np.int8)
            b = rng.integers(-128, 128, (columns, 3)).astype(np.int8)
            matrix.set_weights(card, a)
            vectors = matrix.filled(b.T).tobytes()
            card["vectors"].send(vectors[: int(rng.integers(1, len(vectors)))], end=False)
            for name in ("products", "vectors")[:: 1 if n % 2 else -1]:
                card[name].reset()
            assert (matrix.multiply(card, rows, b) == a.astype(int) @ b.astype(int)).all(), n
        card["vectors"].send(b"\x01" * 5)  # a short vector is filled up with zeros, a late end is one
        assert (np.frombuffer(card["products"].recv(), "<i4") == a.astype(int)[:, :5].sum(axis=1)).all()
        end_late(card["vectors"], matrix.filled(b.T[:1]).tobytes())
        assert (np.frombuffer(card["products"].recv(), "<i4") == (a.astype(int) @ b[:, 0].astype(int))).all()
        card.registers["rows"] = 0
        card["vectors"].send(bytes(100))
        assert card["products"].recv() == b""


def test_packets(seed: int) -> None:
    """Damaged in all ways that the program knows; one of the greatest length; the filter."""
    packets, rng = program("packets"), random.Random(seed)
    sent = [packets.packet(rng) for _ in range(150)]
    whole = packets.datagram(rng, rng.randbytes(65535 - 28 - 40))
    sent += [whole, whole + rng.randbytes(1000), b""]
    due = [packets.parsed(data) for data in sent]
    with towpath.open(f"sim:{FIELDS / 'packets'}") as card:
        records = packets.through(card, sent, len(sent))
        assert [tuple(map(int, record)) for record in records] == due
        assert (card.registers["seen"], card.registers["told"]) == (len(sent), len(sent))
        card.registers["port"] = 53
        told = [record for record in due if record[3] == 53]
        records = packets.through(card, sent, len(told))
        assert [tuple(map(int, record)) for record in records] == told
