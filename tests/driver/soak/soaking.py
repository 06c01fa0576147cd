# SPDX-License-Identifier: Apache-2.0
"""What the long tests share: what a kernel counts of pinned pages, mappings and open files, and processes beside the test."""

from __future__ import annotations

import os
import select
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

from inside import until


def pins() -> int:
    """Pages that are pinned in all of the machine."""
    fold = Path("/proc/sys/vm/stat_refresh")
    if fold.exists():  # where each processor counts for itself
        fold.write_text("1")
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counts["nr_foll_pin_acquired"]) - int(counts["nr_foll_pin_released"])


def mappings() -> int:
    """DMA mappings of all devices, where the kernel counts them: the debug kernel does."""
    counts = Path("/sys/kernel/debug/dma-api")
    if not counts.is_dir():
        return 0
    return int((counts / "nr_total_entries").read_text()) - int((counts / "num_free_entries").read_text())


def open_files() -> int:
    """Of all of the machine. A processor counts for itself, and tells of many at a time: so each is made to tell."""
    processors = os.sched_getaffinity(0)
    held: list[int] = []
    with Path("/proc/sys/fs/file-nr").open("rb", buffering=0) as counts:

        def told() -> int:
            return int(os.pread(counts.fileno(), 100, 0).split()[0])

        try:
            for processor in processors:
                os.sched_setaffinity(0, {processor})
                before = told()
                while told() == before:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            return told() - len(held)
        finally:
            os.sched_setaffinity(0, processors)
            for file in held:
                os.close(file)


class Process:
    """Does something in a process of its own."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.said, writing = os.pipe()
        self.number = os.fork()
        if self.number == 0:
            os.close(self.said)
            code = 1
            try:
                work()
                code = 0
            except BaseException:
                os.write(writing, traceback.format_exc().encode()[-3000:])
            finally:
                os._exit(code)
        os.close(writing)

    def has_ended(self) -> bool:
        """Or fails."""
        return bool(select.select([self.said], [], [], 0)[0])

    def signal(self) -> None:
        """Kills it; `reap` it then."""
        os.kill(self.number, signal.SIGKILL)

    def reap(self) -> None:
        """Waits until nothing is left of it. What it has failed with is raised, even if it was killed then."""
        until(lambda: os.waitid(os.P_PID, self.number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, "a process ends", 60)
        status = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        with os.fdopen(self.said, "rb") as said:
            text = said.read().decode(errors="replace")
        assert not text and status in (0, -signal.SIGKILL), f"a process of the test failed ({status}):\n{text}"
