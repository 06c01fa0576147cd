# SPDX-License-Identifier: Apache-2.0
"""What the long tests share: what a kernel counts of pinned pages and open files, and processes beside the test."""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path


def pins() -> int:
    """Pages that are pinned in all of the machine."""
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counts["nr_foll_pin_acquired"]) - int(counts["nr_foll_pin_released"])


def mappings() -> int:
    """DMA mappings of all devices, where the kernel counts them: the debug kernel does."""
    counts = Path("/sys/kernel/debug/dma-api")
    if not counts.is_dir():
        return 0
    return int((counts / "nr_total_entries").read_text()) - int((counts / "num_free_entries").read_text())


def open_files() -> int:
    return int(Path("/proc/sys/fs/file-nr").read_text().split()[0])


class Process:
    """Does something in a process of its own."""

    def __init__(self, work: Callable[[], None]) -> None:
        reading, writing = os.pipe()
        self.number = os.fork()
        if self.number == 0:
            os.close(reading)
            code = 1
            try:
                work()
                code = 0
            except BaseException:
                os.write(writing, traceback.format_exc().encode()[-3000:])
            finally:
                os._exit(code)
        os.close(writing)
        self.said = reading

    def kill(self) -> None:
        os.kill(self.number, signal.SIGKILL)
        os.waitpid(self.number, 0)
        os.close(self.said)


def finish(processes: Sequence[Process], seconds: float) -> None:
    """Waits for all of them; when one fails, or the time is over, the others are killed and that is raised."""
    left = list(processes)
    until = time.monotonic() + seconds
    why = ""
    while left and not why:
        ready, _, _ = select.select([process.said for process in left], [], [], max(0, until - time.monotonic()))
        for process in [process for process in left if process.said in ready]:
            left.remove(process)
            with os.fdopen(process.said, "rb") as said:
                text = said.read().decode(errors="replace")
            if os.waitpid(process.number, 0)[1] != 0:
                why = f"a process of the test failed:\n{text}"
        if not ready:
            why = f"not done within {seconds} s"
    for process in left:
        process.kill()
    assert not why, why
