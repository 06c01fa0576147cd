#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run crates`: the library's crates as files, each as it would be published, and `--try`: a program that has nothing but these.

The program is made in an empty folder, away from the checkout; cargo takes Towpath's crates from the files and all others from where it
always does. It is compiled with every feature and run: it moves data through a simulated card, whose gateware is named by TOWPATH_HOME, as
Rust's programs are not told where that is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import clibrary
from clibrary import MANIFEST, ROOT, BuildError

PROGRAM = """//! Sends a message through a simulated card, and receives it.

fn main() -> towpath::Result<()> {
    let device = towpath::Device::open("sim:loopback")?;
    let sender = device.sender("in")?;
    let receiver = device.receiver("out")?;
    sender.send(b"from the crates")?;
    println!("{}", String::from_utf8_lossy(&receiver.recv()?));
    Ok(())
}
"""


def published() -> list[str]:
    """The crates of the workspace that may be published."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", f"--manifest-path={MANIFEST}"]
    told = json.loads(clibrary.run(command).stdout)
    return sorted(package["name"] for package in told["packages"] if package["publish"] != [])


def build(output: Path) -> list[Path]:
    """Leaves each crate in `output`."""
    names = published()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = ["cargo", "package", "--quiet", "--locked", "--no-verify", "--allow-dirty", f"--manifest-path={MANIFEST}"]
        clibrary.run([*command, f"--target-dir={scratch}", *(f"--package={name}" for name in names)])
        made = []
        for name in names:
            file = f"{name}-{clibrary.version()}.crate"
            (output / file).write_bytes((Path(scratch) / "package" / file).read_bytes())
            made.append(output / file)
    return made


def attempt(crates: list[Path], folder: Path) -> None:
    """Compiles and runs a program over the crates; raises BuildError if it does not say what it must."""
    for crate in crates:
        with tarfile.open(crate) as packed:
            packed.extractall(folder / "crates")
    program = folder / "program"
    (program / "src").mkdir(parents=True)
    (program / "src/main.rs").write_text(PROGRAM)
    version = clibrary.version()
    lines = ['[package]\nname = "program"\nversion = "0.0.0"\nedition = "2021"\n', "[dependencies]"]
    lines += [f'towpath = {{ version = "{version}", features = ["serve", "tokio"] }}\n', "[patch.crates-io]"]
    lines += [f'{crate.name.removesuffix(f"-{version}.crate")} = {{ path = "{folder}/crates/{crate.stem}" }}' for crate in crates]
    (program / "Cargo.toml").write_text("\n".join(lines) + "\n")
    variables = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target"), "TOWPATH_HOME": str(ROOT)}
    done = subprocess.run(["cargo", "run", "--quiet"], cwd=program, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if (done.returncode, done.stdout) != (0, "from the crates\n"):
        raise BuildError(f"the program over the crates: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run crates", description="Make the library's crates as they would be published.")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder that they go to: this one")
    parser.add_argument("--try", dest="attempt", action="store_true", help="compile and run a program that has nothing but these")
    options = parser.parse_args(arguments)
    try:
        made = build(options.output.absolute())
        for file in made:
            print(f"crates: {file}")
        if options.attempt:
            print("crates: a program over them; from nothing, that takes some minutes", flush=True)
            with tempfile.TemporaryDirectory() as scratch:
                attempt(made, Path(scratch))
            print("crates: it compiles and runs")
    except (BuildError, OSError, subprocess.SubprocessError) as error:
        print(f"crates: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
