#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Moves a real GPU's memory to and from simulated cards, and compares every byte: for a machine with a CUDA GPU.

    python tests/gpu/on_a_gpu.py [--seed N] [--rounds N] [CHECK ...]

Prints a line for each check, and exits with 1 if one failed. A library that is not installed is skipped, and the line says so. What the
machine is comes first. Times are of a simulator: they say nothing about a card.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import os
import platform
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import towpath

CHECKS: dict[str, Callable[[Run], str]] = {}
# Numbers of the driver's interface.
DMA_BUF_SUPPORTED = 124
DMA_BUF, FOR_PCIE = 1, 1


class Skip(Exception):
    """It cannot be run here, and why."""


class Run:
    def __init__(self, seed: int, rounds: int) -> None:
        self.random = random.Random(seed)
        self.rounds = rounds

    def size(self) -> int:
        """Mostly small, sometimes more than a block of pinned memory."""
        return self.random.choice([1, 3, 64, 65, self.random.randint(1, 5000), self.random.randint(1, 300_000), (1 << 20) + 4097])

    def data(self, size: int) -> bytes:
        return self.random.randbytes(size)


def check(function: Callable[[Run], str]) -> Callable[[Run], str]:
    CHECKS[function.__name__.replace("_", "-")] = function
    return function


def library(name: str) -> Any:
    try:
        return __import__(name, fromlist=["x"])
    except ImportError as why:
        raise Skip(f"{name} is not installed ({why})") from None


def torch_() -> Any:
    torch = library("torch")
    if not torch.cuda.is_available():
        raise Skip("PyTorch finds no GPU")
    return torch


def tensor_of(torch: Any, data: bytes, offset: int) -> Any:
    """The bytes on the GPU, `offset` bytes behind the beginning of an allocation."""
    whole = torch.zeros(offset + len(data), dtype=torch.uint8, device="cuda")
    whole[offset:] = torch.frombuffer(bytearray(data), dtype=torch.uint8).cuda()
    return whole[offset:]


def bytes_of(tensor: Any) -> bytes:
    return bytes(tensor.cpu().numpy().tobytes())


def cuda() -> Any:
    driver = ctypes.CDLL("libcuda.so.1")
    assert driver.cuInit(0) == 0
    return driver


# --- what the machine is ---------------------------------------------------------------------------------------------------------


@check
def machine(_run: Run) -> str:
    driver, version, name, dma_buf = cuda(), ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_int(-1)
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetName(name, 100, 0)
    driver.cuDeviceGetAttribute(ctypes.byref(dma_buf), DMA_BUF_SUPPORTED, 0)
    module = Path("/proc/driver/nvidia/version")
    kind = "no /proc/driver/nvidia/version"
    if module.exists():
        kind = module.read_text().splitlines()[0].removeprefix("NVRM version: ").strip()
    udmabuf = "there" if Path("/dev/udmabuf").exists() else "missing"
    return (
        f"{name.value.decode()}, CUDA {version.value // 1000}.{version.value % 1000 // 10}; {kind}; dma-buf: {dma_buf.value}; "
        f"/dev/udmabuf {udmabuf}; Linux {platform.release()}; Python {platform.python_version()}"
    )


@check
def export(_run: Run) -> str:
    """The driver's call for a dma-buf, on an allocation of 4 MiB: whole, a page in it, and what is not aligned."""
    torch, driver, said = torch_(), cuda(), []
    tensor = torch.zeros(4 << 20, dtype=torch.uint8, device="cuda")
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    assert driver.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(tensor.data_ptr())) == 0
    said.append(f"an allocation of {size.value:#x} bytes")
    for what, at, length in (("whole", 0, size.value), ("64 KiB", 1 << 16, 1 << 16), ("a page", 4096, 4096), ("unaligned", 8, 4096)):
        for how, flags in (("for PCIe", FOR_PCIE), ("any", 0)):
            handle = ctypes.c_int(-1)
            arguments = (ctypes.c_uint64(base.value + at), ctypes.c_size_t(length), DMA_BUF, ctypes.c_ulonglong(flags))
            code = driver.cuMemGetHandleForAddressRange(ctypes.byref(handle), *arguments)
            said.append(f"{what}, {how}: {'a descriptor' if code == 0 else f'error {code}'}")
            if code == 0:
                os.close(handle.value)
    return "; ".join(said)


# --- every byte, by each library ---------------------------------------------------------------------------------------------------


def back_and_forth(run: Run, make: Callable[[bytes], Any], read: Callable[[Any], bytes], **how: Any) -> str:
    """Random messages from arrays through the card and into other arrays."""
    moved = 0
    with towpath.open("sim:loopback") as card:
        for _ in range(run.rounds):
            data = run.data(run.size())
            source, target = make(data), make(bytes(len(data)))
            ticket = card.submit_recv("out", host := bytearray(len(data))) if not how and run.random.random() < 0.2 else None
            if ticket is None:
                moved += exchange(card, source, target, len(data), **how)
                assert read(target) == data, f"{len(data)} bytes differ"
            else:
                card.send("in", source)
                ticket.wait()
                assert bytes(host) == data, f"{len(data)} bytes differ"
            assert read(source) == data, "the source has changed"
    return f"{run.rounds} messages, {moved} bytes there and back"


def exchange(card: towpath.Device, source: Any, target: Any, size: int, **how: Any) -> int:
    """The card holds less than a long message, so both calls are under way at once."""
    from threading import Thread

    failed: list[BaseException] = []

    def send() -> None:
        try:
            sent = card.send("in", source, **how)
            assert sent == size and isinstance(sent, int)
            assert type(sent).__name__ == ("Staged" if how.get("staged") else "int"), type(sent)
        except BaseException as why:
            failed.append(why)

    thread = Thread(target=send)
    thread.start()
    got = card.recv_into("out", target, **how)
    thread.join()
    if failed:
        raise failed[0]
    assert (got.bytes, got.end_of_message, got.staged) == (size, True, bool(how.get("staged"))), got
    return size


@check
def torch_loopback(run: Run) -> str:
    torch = torch_()
    return back_and_forth(run, lambda data: tensor_of(torch, data, run.random.randint(0, 70)), bytes_of)


@check
def torch_staged(run: Run) -> str:
    torch = torch_()
    return back_and_forth(run, lambda data: tensor_of(torch, data, run.random.randint(0, 70)), bytes_of, staged=True)


@check
def torch_types(run: Run) -> str:
    torch, names = torch_(), []
    with towpath.open("sim:loopback") as card:
        for name in ("float32", "bfloat16", "float16", "int64", "bool", "complex64", "float8_e4m3fn"):
            kind = getattr(torch, name)
            source = torch.randint(0, 2, (7, 5, 3), device="cuda").to(kind)
            target = torch.zeros_like(source)
            try:
                exchange(card, source, target, source.numel() * source.element_size())
            except towpath.UsageError as why:
                names.append(f"{name} refused ({why})")
                continue
            assert torch.equal(source.view(torch.uint8), target.view(torch.uint8)), name
            names.append(name)
    return ", ".join(names)


@check
def cupy_loopback(run: Run) -> str:
    cupy, numpy = library("cupy"), library("numpy")

    def make(data: bytes) -> Any:
        offset = run.random.randint(0, 70)
        whole = cupy.zeros(offset + len(data), dtype=cupy.uint8)
        whole[offset:] = cupy.asarray(numpy.frombuffer(data, dtype=numpy.uint8))
        return whole[offset:]

    return back_and_forth(run, make, lambda array: bytes(array.get().tobytes()))


@check
def numba_loopback(run: Run) -> str:
    cuda, numpy = library("numba.cuda"), library("numpy")
    make = lambda data: cuda.to_device(numpy.frombuffer(data, dtype=numpy.uint8))  # noqa: E731
    return back_and_forth(run, make, lambda array: bytes(array.copy_to_host().tobytes()))


@check
def jax_send(run: Run) -> str:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax, numpy = library("jax"), library("numpy")
    with towpath.open("sim:loopback") as card:
        for _ in range(run.rounds):
            data = run.data(min(run.size(), 9000))
            array = jax.device_put(numpy.frombuffer(data, dtype=numpy.uint8), jax.devices("gpu")[0])
            card.send("in", array)
            assert card.recv("out") == data
        try:
            card.recv_into("out", array, timeout=0.1)
        except towpath.UsageError as why:
            refused = str(why)
        else:
            raise AssertionError("an array of JAX's, which never changes, was received into")
    return f"{run.rounds} messages; receiving into one: {refused}"


@check
def scratchpad(run: Run) -> str:
    torch, moved = torch_(), 0
    with towpath.open("sim:scratchpad") as card:
        ram = card.memory["ram"]
        for turn in range(run.rounds):
            data, how = run.data(min(run.size(), 1 << 19)), {"staged": turn % 2 == 1}
            address = run.random.randint(0, len(ram) - len(data))
            source, target = tensor_of(torch, data, turn), tensor_of(torch, bytes(len(data)), 2 * turn)
            assert ram.write(address, source, **how) == len(data) == ram.read_into(target, address, **how)
            assert bytes_of(target) == data
            moved += len(data)
    return f"{run.rounds} writes and reads, {moved} bytes"


# --- where memory comes from ------------------------------------------------------------------------------------------------------


def in_a_process(settings: str, code: str, limit: float = 120) -> str:
    """Code that prints one line, with settings of PyTorch's allocator, which it reads when it starts."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom on_a_gpu import *\n{code}"
    environment = os.environ | ({"PYTORCH_CUDA_ALLOC_CONF": settings, "PYTORCH_ALLOC_CONF": settings} if settings else {})
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, done.stderr[-1500:]
    return done.stdout.strip()


@check
def segments(_run: Run) -> str:
    """One tensor over several segments: bytes around each border."""
    torch_()
    return in_a_process(
        "expandable_segments:True",
        """
torch, driver, run = torch_(), cuda(), Run(1, 1)
tensor = torch.randint(0, 256, (90 << 20,), dtype=torch.uint8, device="cuda")
start = at = tensor.data_ptr()
borders, sizes = [], []
while at < start + tensor.numel():
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    code = driver.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(at))
    assert code == 0, code
    at = base.value + size.value
    sizes.append(size.value)
    borders.append(at - start)
inner = [border for border in borders if border < tensor.numel()]
with towpath.open("sim:loopback") as card:
    for how in ({}, {"staged": True}):
        for border in inner[:3] + [4096]:
            part = tensor[border - 3001 : border + 2002]
            back = torch.zeros_like(part)
            exchange(card, part, back, 5003, **how)
            assert torch.equal(part, back)
print(f"{len(borders)} segments as the driver tells them, of {sorted(set(sizes))} bytes; {len(inner)} borders inside the tensor")
""",
    )


@check
def pool(_run: Run) -> str:
    torch_()
    return in_a_process(
        "backend:cudaMallocAsync",
        """
torch = torch_()
print(back_and_forth(Run(2, 10), lambda data: tensor_of(torch, data, 13), bytes_of), "from the driver's own pool")
""",
    )


class Raw:
    """Memory of the driver's, by the CUDA array interface."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (address, False), "stream": None}


@check
def other_context(run: Run) -> str:
    """Memory of a context that is not the primary one, and not current when it is used."""
    driver, context, address = cuda(), ctypes.c_void_p(), ctypes.c_uint64()
    # Before version 13 the call had an argument less.
    make = getattr(driver, "cuCtxCreate_v2")  # noqa: B009
    assert make(ctypes.byref(context), 0, 0) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(8192)) == 0
    data = run.data(5000)
    assert driver.cuMemcpyHtoD_v2(ctypes.c_uint64(address.value + 1), data, ctypes.c_size_t(len(data))) == 0
    popped = ctypes.c_void_p()
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(popped)) == 0
    with towpath.open("sim:loopback") as card:
        card.send("in", Raw(address.value + 1, len(data)))
        assert card.recv("out") == data
    return "5000 bytes"


@check
def refusals(_run: Run) -> str:
    torch, said = torch_(), []
    tensor = torch.zeros(64, 64, device="cuda")
    with towpath.open("sim:loopback") as card:
        for name, buffer in (
            ("strided", tensor[:, ::2]),
            ("gradient", torch.zeros(4, device="cuda", requires_grad=True)),
            ("host", torch.zeros(4)),
            ("pinned", torch.zeros(4).pin_memory()),
        ):
            try:
                card.send("in", buffer, timeout=1)
            except towpath.UsageError as why:
                said.append(f"{name}: {why}")
            else:
                raise AssertionError(f"{name} was taken")
    return "; ".join(said)


# --- order with a stream's work ---------------------------------------------------------------------------------------------------


def load(torch: Any, milliseconds: float) -> None:
    """Keep the current stream busy."""
    torch.cuda._sleep(int(milliseconds * 1.5e6))


def ordered(run: Run, streams: Callable[[Any], tuple[Any, Any]], **how: Any) -> str:
    """Work, a transfer, work, on one stream for each direction; nothing on the host waits in between."""
    torch, longest = torch_(), 0.0
    with towpath.open("sim:loopback") as card:
        # The first use of a kernel takes longer than the load does: each is used once before.
        used = torch.zeros(64, dtype=torch.uint8, device="cuda")
        load(torch, 1)
        torch.add(used.fill_(1), 100, out=torch.zeros_like(used))
        bool((used == 1).all())
        for turn in range(run.rounds):
            first, second = streams(torch)
            size = run.random.randint(1, 40_000)
            source = torch.zeros(size, dtype=torch.uint8, device="cuda")
            target, after = torch.zeros_like(source), torch.zeros_like(source)
            torch.cuda.synchronize()
            began = time.perf_counter()
            with torch.cuda.stream(first):
                load(torch, 20)
                source.fill_(turn + 1)
                sent = card.send("in", source, stream=first, **how)
                source.fill_(200)  # must wait for the transfer
            with torch.cuda.stream(second):
                received = card.recv_into("out", target, stream=second, **how)
                torch.add(target, 100, out=after)  # must wait for the transfer
            took = time.perf_counter() - began
            longest = max(longest, took)
            assert not received.done(), "it was received before it was made"
            second.synchronize()
            assert bool((after == turn + 101).all()), f"turn {turn}: work behind the transfer did not wait for it: {after[:8]}"
            first.synchronize()
            assert bool((source == 200).all())
            assert sent.wait() == size
            assert received.wait()[:2] == (size, True)
    return f"{run.rounds} rounds behind 20 ms of work each; the calls returned within {1000 * longest:.1f} ms"


@check
def order(run: Run) -> str:
    return ordered(run, lambda torch: (torch.cuda.Stream(), torch.cuda.Stream()))


@check
def order_staged(run: Run) -> str:
    return ordered(run, lambda torch: (torch.cuda.Stream(), torch.cuda.Stream()), staged=True)


@check
def order_on_the_default_stream(run: Run) -> str:
    """One direction on the legacy default stream, for which many others wait."""
    return ordered(run, lambda torch: (torch.cuda.default_stream(), torch.cuda.Stream()))


@check
def order_by_cupy(run: Run) -> str:
    cupy = library("cupy")
    with towpath.open("sim:loopback") as card:
        for turn in range(run.rounds):
            first, second = cupy.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
            size = run.random.randint(1, 40_000)
            source, target = cupy.zeros(size, dtype=cupy.uint8), cupy.zeros(size, dtype=cupy.uint8)
            cupy.cuda.Device().synchronize()
            with first:
                source.fill(turn + 1)
                card.send("in", source, stream=first)
                source.fill(200)
            with second:
                card.recv_into("out", target, stream=second)
                target += 100
            second.synchronize()
            assert bool((target == turn + 101).all())
            first.synchronize()
    return f"{run.rounds} rounds"


@check
def memory_order(run: Run) -> str:
    torch = torch_()
    with towpath.open("sim:scratchpad") as card:
        ram = card.memory["ram"]
        for turn in range(run.rounds):
            stream, size = torch.cuda.Stream(), run.random.randint(1, 40_000)
            source, target = (torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(2))
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                load(torch, 5)
                source.fill_(turn + 1)
                ram.write(4096, source, stream=stream)
                source.fill_(99)
                ram.read_into(target, 4096, stream=stream)
                target.add_(1)
            stream.synchronize()
            assert bool((target == turn + 2).all())
    return f"{run.rounds} writes and reads on one stream"


@check
def failures_release_the_stream(_run: Run) -> str:
    torch, said = torch_(), []
    with towpath.open("sim:loopback") as card:
        for name in ("timeout", "cancel", "close"):
            stream = torch.cuda.Stream()
            target = torch.zeros(100, dtype=torch.uint8, device="cuda")
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                transfer = card.recv_into("out", target, timeout=0.001 if name == "timeout" else None, stream=stream)
                target.fill_(7)
            time.sleep(0.1)
            assert not stream.query(), "the stream did not wait"
            if name == "cancel":
                transfer.cancel()
            if name == "close":
                card.close()
            stream.synchronize()
            assert bool((target == 7).all())
            try:
                transfer.wait()
            except towpath.Error as why:
                said.append(f"{name}: {type(why).__name__}")
            else:
                raise AssertionError(f"{name}: no error")
    return "; ".join(said)


@check
def calls_that_wait_for_the_stream(_run: Run) -> str:
    """Kernels used for the first time, memory allocated, a number copied to the host: all on a stream that waits for a transfer."""
    torch_()
    return in_a_process(
        "",
        """
torch = torch_()
stream = torch.cuda.Stream()
with towpath.open("sim:loopback") as card:
    source, target = (torch.zeros(3000, dtype=torch.uint8, device="cuda") for _ in range(2))
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        load(torch, 50)
        source.fill_(2)
        transfers = card.send("in", source, stream=stream), card.recv_into("out", target, stream=stream)
        number = (torch.sinh(target.float()) - torch.sinh(torch.full((3000,), 2.0, device="cuda"))).abs().sum().item()
        large = torch.zeros(300 << 20, device="cuda")
    assert number == 0, number
    print([transfer.wait() for transfer in transfers])
""",
        60,
    )


@check
def tensor_example(_run: Run) -> str:
    torch_()
    program = Path(__file__).resolve().parents[2] / "examples" / "tensor.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr)[-1500:]
    return done.stdout.strip().replace("\n", "; ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=300, help="seconds for one check; one that hangs ends the program")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"one of: {', '.join(CHECKS)}")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.rounds} rounds", flush=True)
    failed = 0
    for name in options.checks or CHECKS:
        began = time.perf_counter()
        faulthandler.dump_traceback_later(options.limit, exit=True)
        try:
            word, said = "passed", CHECKS[name](Run(options.seed, options.rounds))
        except Skip as why:
            word, said = "SKIPPED", str(why)
        except Exception:
            word, said = "FAILED", traceback.format_exc()
            failed += 1
        print(f"{word} {name} ({time.perf_counter() - began:.1f} s): {said}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
