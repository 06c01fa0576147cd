#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run wheel`: the Python package as a wheel that is given to others, and the audit that any wheel of it must pass.

Set-up's own wheel is linked with this machine's C library, and pip takes it only where that is as new. Here zig links with the
symbols of an older one, so pip takes the wheel wherever Python 3.11 and that C library are. The audit goes by others' lists and not by
what maturin says of its own work: auditwheel has the platforms' libraries and versions, abi3info the symbols of the stable ABI.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion, Symbol

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / ".towpath"
# Rust's own floor: its standard library asks for no newer one.
GLIBC = "2_17"
# Where cards with PCI Express are.
PROCESSORS = ("x86_64", "aarch64")


class BuildError(Exception):
    """The text says why there is no wheel."""


# --- the audit -----------------------------------------------------------------------------------------------------------------


def audit(wheel: Path) -> list[str]:
    """What is wrong with a wheel: nothing, if its name says the truth about where it runs."""
    python, abi, platforms = wheel.stem.split("-")[-3:]
    version = re.fullmatch(r"cp3(\d+)", python)
    if version is None or abi != "abi3":
        return [f"{wheel.name}: its tag is {python}-{abi}, and not that of the stable ABI from some Python 3 on"]
    found = platform_findings(wheel, platforms.split("."))
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as packed:
        libraries = [name for name in packed.namelist() if name.endswith(".so")]
        found += [] if libraries else [f"{wheel.name}: there is no library in it"]
        for name in libraries:
            found += abi_findings(name, Path(packed.extract(name, scratch)), int(version[1]))
    return found


def platform_findings(wheel: Path, tags: list[str]) -> list[str]:
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", wheel], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{wheel.name}: auditwheel cannot judge it: {(done.stderr or done.stdout).strip()}"]
    told = json.loads(done.stdout)
    true = {told["overall_tag"], told["overall_tag"].replace("manylinux_2_17_", "manylinux2014_")}  # one platform with two names
    found = []
    if told["overall_tag"] not in tags or not true.issuperset(tags):
        found.append(f"{wheel.name}: auditwheel finds that it runs on {told['overall_tag']}, and its name says {' and '.join(tags)}")
    found += [f"{wheel.name}: needs {library}, which no platform promises" for library in told["external_libs"]]
    return found


def abi_findings(name: str, library: Path, minor: int) -> list[str]:
    """Symbols of Python that a library uses, and that the stable ABI of Python 3.`minor` does not have."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", "--format=posix", library], capture_output=True, text=True, check=True)
    symbols = [line.split()[0] for line in listed.stdout.splitlines()]
    of_python = [symbol for symbol in symbols if re.match("_?Py", symbol)]
    found = [] if name.endswith(".abi3.so") else [f"{name}: a library for the stable ABI is called .abi3.so"]
    found += [] if of_python else [f"{name}: uses nothing of Python"]
    for symbol in of_python:
        known = FUNCTIONS.get(Symbol(symbol)) or DATAS.get(Symbol(symbol))
        if known is None:
            found.append(f"{name}: uses {symbol}, which is not in the stable ABI")
        elif known.added > PyVersion(3, minor):
            found.append(f"{name}: uses {symbol}, which is in the stable ABI since Python {known.added} only")
    return found


# --- the build -----------------------------------------------------------------------------------------------------------------


def target(processor: str) -> list[str]:
    """maturin's arguments for another processor than this machine's; raises BuildError if Rust's library for it is not there."""
    if processor == platform.machine():
        return []
    triple = f"{processor}-unknown-linux-gnu"
    told = subprocess.run(["rustc", "--print=target-libdir", f"--target={triple}"], capture_output=True, text=True)
    if told.returncode != 0 or not any(Path(told.stdout.strip()).glob("libstd-*.rlib")):
        raise BuildError(f"Rust's standard library for {triple} is not there: rustup target add {triple}")
    return [f"--target={triple}"]


def build(folder: Path, processor: str) -> Path:
    """Leaves a wheel for a processor in `folder` that has passed the audit."""
    cache = OUT / "cache"
    zig = {
        "CARGO_ZIGBUILD_PYTHON_PATH": OUT / "zig/bin/python",
        "CARGO_ZIGBUILD_CACHE_DIR": cache / "cargo-zigbuild",
        "ZIG_GLOBAL_CACHE_DIR": cache / "zig",
        "ZIG_LOCAL_CACHE_DIR": cache / "zig",
    }
    with tempfile.TemporaryDirectory() as scratch:
        command = ["maturin", "build", "--release", "--locked", "--zig", f"--compatibility=manylinux_{GLIBC}", *target(processor)]
        command += ["--manifest-path", str(ROOT / "bindings/python/Cargo.toml"), "--interpreter", sys.executable, "--out", scratch]
        log = OUT / "log/release-wheel.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            variables = os.environ | {name: str(place) for name, place in zig.items()}
            done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise BuildError("\n".join([f"maturin failed; the end of {log.relative_to(ROOT)}:", *log.read_text().splitlines()[-25:]]))
        built = list(Path(scratch).glob("*.whl"))
        if len(built) != 1:
            raise BuildError(f"maturin made {len(built)} wheels, not one")
        if found := audit(built[0]):
            raise BuildError("\n".join(["the audit refuses it:", *found]))
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(built[0], folder / built[0].name))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run wheel", description="Make the Python package as a wheel for others' machines.")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder that it goes to: this one")
    parser.add_argument("--processor", choices=PROCESSORS, default=platform.machine(), help="the one it is for: this machine's")
    parser.add_argument("--audit", type=Path, metavar="FILE", help="make nothing: audit this wheel")
    options = parser.parse_args(arguments)
    if options.audit is not None:
        found = audit(options.audit)
        print("\n".join(found) or f"wheel: {options.audit.name} is what its name says")
        return 1 if found else 0
    print(f"wheel: building it for glibc {GLIBC.replace('_', '.')} and newer; from nothing, that takes some minutes", flush=True)
    try:
        wheel = build(options.output.absolute(), options.processor)
    except (BuildError, OSError, subprocess.SubprocessError) as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    print(f"wheel: {wheel}; audited; {wheel.stat().st_size / 1e6:.1f} MB; to install it: pip install '{wheel}'")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
