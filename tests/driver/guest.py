# SPDX-License-Identifier: Apache-2.0
"""A guest: User-Mode Linux with simulated cards on its bus, in which pytest runs, with this machine's programs and this checkout."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cards import ROOT, Cards

HERE = Path(__file__).resolve().parent
MEMORY = "512M"
LIMIT_SECONDS = 420
# A kernel that cannot stop complaining would fill the disk.
LONGEST_OUTPUT = 8 << 20


@dataclass
class Ended:
    """What came of a guest."""

    kernel: str  # all that the kernel said
    code: int | None  # pytest's exit code; None when the guest did not come to its end
    report: Path  # pytest's
    why: str = ""


@dataclass
class Pipe:
    """Takes what comes out of a descriptor, shows it if wanted, and keeps it up to a limit."""

    source: IO[bytes]
    show: bool
    kept: bytearray = field(default_factory=bytearray)

    def run(self) -> None:
        for line in self.source:
            line = line.replace(b"\r", b"")
            if len(self.kept) < LONGEST_OUTPUT:
                self.kept += line
                if self.show:
                    sys.stdout.write(line.decode(errors="replace"))
                    sys.stdout.flush()


def boot(kernel: Path, cards: Cards, work: Path, environment: dict[str, str], tests: Path, arguments: list[str]) -> Ended:
    """Runs the tests of a folder in a guest of its own; `work` is a new folder, with a short name and without blanks in it."""
    output = work / "out"
    output.mkdir()
    files = [Path(value).parent for value in environment.values() if Path(value).is_file()]
    needed = {str(path) for path in (ROOT, work, output, sys.prefix, sys.base_prefix, *files)}
    pytest = [
        "-m",
        "pytest",
        "-v",
        "--color=no",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "--junitxml=/run/out/report.xml",
        str(tests),
        *arguments,
    ]
    command = [sys.executable, str(HERE / "guest/init.py"), str(output), *sorted(needed), "--", sys.executable, *pytest]
    variables = {
        "HOME": "/tmp",
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "LANG": "C.UTF-8",
        **environment,
    }
    lines = ["#!/bin/sh", f"cd {shlex.quote(str(ROOT))} || exit 1"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    init = work / "init"
    init.write_text("\n".join([*lines, f"exec {shlex.join(command)}", ""]))
    init.chmod(0o755)

    reading, writing = os.pipe()
    channel = cards.guests.fileno()
    options = [
        *(f"mem={MEMORY}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"),
        # Console 0 is the kernel's, 1 the tests' output, 2 the way to ask the outside.
        *("con0=null,fd:1", f"con1=null,fd:{writing}", f"con2=fd:{channel}", "loglevel=8", "printk.devkmsg=on", "kasan_multi_shot"),
        *cards.options(),
    ]
    with subprocess.Popen(
        [kernel / "linux", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(writing, channel),
        process_group=0,
    ) as process:
        os.close(writing)
        assert process.stdout is not None
        with os.fdopen(reading, "rb") as shown:
            pipes = [Pipe(process.stdout, show=False), Pipe(shown, show=True)]
            threads = [threading.Thread(target=pipe.run, daemon=True) for pipe in pipes]
            for thread in threads:
                thread.start()
            try:
                process.wait(LIMIT_SECONDS)
                why = ""
            except subprocess.TimeoutExpired:
                why = f"it did not switch itself off within {LIMIT_SECONDS} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # it answers no other signal when it hangs
            for thread in threads:
                thread.join(10)
    kernel_log, said = (pipe.kept.decode(errors="replace") for pipe in pipes)
    (work / "tests.log").write_text(said)
    (work / "kernel.log").write_text(kernel_log)
    code = int((output / "code").read_text()) if (output / "code").exists() else None
    if code is None:
        during = re.findall(r"towpath: (.+)", kernel_log)[-1:] or ["the start"]
        why = f"{why or 'it ended before its tests did'}, during {during[0]}"
    return Ended(kernel_log, code, output / "report.xml", why)
