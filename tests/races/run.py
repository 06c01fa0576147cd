#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run test miri` and `./run test tsan`: tests of the library with a watcher beneath them.

    python tests/races/run.py miri|tsan

miri interprets the tests that are short enough for it (host/towpath/tests/small.rs, and unit tests of the drivers, the system layer and the
C library's handles): it finds accesses outside of memory or after its life, leaks, races, and what weak memory may reorder. ThreadSanitizer
watches the threads of the library's tests at nearly full speed, over cards in software: it does not see into the gateware's model, which
is C++.

Both take a nightly toolchain with the sources of Rust's library, which is compiled for them: ThreadSanitizer reports races that are none
where it does not see the locks of std. Nothing here installs them; without them the suite says what to type, and is skipped.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".towpath"
CARGO = ["cargo", "+nightly"]
MANIFEST = ["--locked", "--manifest-path=host/Cargo.toml"]
NEEDS = "needs nightly Rust with miri and rust-src; type: rustup toolchain install nightly --component miri --component rust-src"

# Packages, targets, and words for the test program. The pace of waiting is arithmetic without memory; miri has no files, mappings and
# sockets.
MIRI = [
    (
        ["--package=towpath-system", "--package=towpath-driver", "--package=towpath-userspace", "--lib"],
        ["--skip=pace", "--skip=signals::", "--skip=file::", "--skip=mapping::", "--skip=socket::"],
    ),
    (["--package=towpath-c", "--lib"], ["handle::"]),
    (["--package=towpath", "--test=small"], []),
]
# Each program runs once for each seed, which is another order of its threads.
MIRI_SEEDS = range(4)

TSAN_TESTS = ["calls", "corners", "linux", "mock", "shared", "small"]
TSAN_CALLS = "20000"
# Of shared.rs.
TSAN_SKIPS = ["--skip=a_simulated_card"]


def output(*command: str) -> str:
    """What a command prints; nothing if it fails or is not there."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def is_there() -> bool:
    """Is there a nightly toolchain with miri and the library's sources?"""
    sysroot = output("rustc", "+nightly", "--print=sysroot").strip()
    return bool(sysroot and output(*CARGO, "miri", "--version")) and (Path(sysroot) / "lib/rustlib/src/rust/library/Cargo.lock").exists()


def parking_lot() -> list[str]:
    """Arguments of cargo that put a copy of parking_lot_core in its place. Version 0.9.12 names the word of a futex by a pointer to an
    atomic. miri refuses that since September 2026: it wants a pointer to the number."""
    metadata = json.loads(output(*CARGO, "metadata", "--format-version=1", *MANIFEST))
    original = next(Path(package["manifest_path"]).parent for package in metadata["packages"] if package["name"] == "parking_lot_core")
    copy = OUT / "cache/miri" / original.name
    source = "src/thread_parker/linux.rs"
    text = (original / source).read_text()
    text = text.replace("                &self.futex,\n", "                self.futex.as_ptr(),\n")
    text = text.replace("            self.futex,\n", "            self.futex.cast_mut().cast::<i32>(),\n")
    if not copy.exists() or (copy / source).read_text() != text:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        (copy / source).write_text(text)
    return ["--config", f"paths=[{json.dumps(str(copy))}]"]


def cargo(name: str, environment: dict[str, str], *arguments: str, whole: bool = False) -> int:
    """Runs cargo with a target folder of the suite's own. `whole`: what it says is shown in one piece, for others run beside it."""
    own = {"CARGO_TARGET_DIR": str(OUT / "target" / name), **environment}
    to = subprocess.PIPE if whole else None
    done = subprocess.run([*CARGO, *arguments], cwd=ROOT, env=os.environ | own, stdout=to, stderr=subprocess.STDOUT, text=True, check=False)
    if whole:
        print(f"{environment}\n{done.stdout}", end="", flush=True)
    return done.returncode


def miri() -> int:
    if cargo("miri", {}, "miri", "setup"):
        return 1
    patched = parking_lot()

    def run(job: tuple[int, tuple[list[str], list[str]]]) -> int:
        seed, (what, words) = job
        # Cards are given addresses as numbers.
        environment = {"MIRIFLAGS": f"-Zmiri-permissive-provenance -Zmiri-seed={seed}", "RUSTFLAGS": "-Awarnings"}
        return cargo("miri", environment, "miri", "test", *patched, *MANIFEST, "--no-fail-fast", *what, "--", *words, whole=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(run, itertools.product(MIRI_SEEDS, MIRI)))


def tsan() -> int:
    host = next(line.split()[1] for line in output("rustc", "+nightly", "-vV").splitlines() if line.startswith("host:"))
    environment = {"RUSTFLAGS": "-Zsanitizer=thread -Awarnings", "TOWPATH_NO_GATEWARE": "1"}
    environment["TOWPATH_CALLS"] = os.environ.get("TOWPATH_CALLS", TSAN_CALLS)
    what = [
        "--package=towpath",
        "--package=towpath-driver",
        "--package=towpath-userspace",
        "--lib",
        *(f"--test={test}" for test in TSAN_TESTS),
    ]
    build = ["-Zbuild-std", f"--target={host}", "--release"]
    return cargo("tsan", environment, "test", *build, *MANIFEST, "--no-fail-fast", *what, "--", *TSAN_SKIPS)


def main(arguments: list[str]) -> int:
    suites = {"miri": miri, "tsan": tsan}
    if len(arguments) != 1 or arguments[0] not in suites:
        print(__doc__)
        return 2
    if not is_there():
        print(f"test {arguments[0]} ... ignored, {NEEDS}", flush=True)
        return 0
    return 1 if suites[arguments[0]]() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
