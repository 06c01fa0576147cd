# SPDX-License-Identifier: Apache-2.0
"""The guest itself: what tests of the driver count on."""

import os
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from inside import IN_QEMU, ROOT, Card, KernelLog, guest_sleeps, sleep


def test_memory_is_enough() -> None:
    sizes = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    assert int(sizes["MemAvailable"].split()[0]) > 200 << 10


def test_time_passes_as_outside() -> None:
    began, at = time.time(), time.monotonic()
    assert began > 1.7e9, "the clock is right"
    time.sleep(0.2)
    assert 0.2 <= time.monotonic() - at < 2
    assert abs((time.time() - began) - (time.monotonic() - at)) < 0.1


def test_many_files_may_be_open() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 1024


def test_hosts_files_are_read_only() -> None:
    with pytest.raises(OSError, match="Read-only"):
        (ROOT / "written-by-a-guest").write_text("x")
    Path("/run/out/written").write_text("x")
    assert Path("/tmp").stat().st_dev != Path("/").stat().st_dev


def test_programs_run_as_somebody_else() -> None:
    done = subprocess.run(["id", "-u"], user=65534, group=65534, cwd="/", capture_output=True, text=True)
    assert done.stdout == "65534\n", done.stderr


def test_programs_are_those_of_a_minimal_system() -> None:
    """What this machine has beyond that is not found, so that no test comes to need it."""
    assert shutil.which("bash") and not any(map(shutil.which, ("find", "perl", "pkill")))


def test_pipes_sockets_and_shared_memory_work() -> None:
    assert subprocess.run(["bash", "-c", "yes | head -c 100000 | wc -c"], capture_output=True, text=True).stdout.strip() == "100000"
    one, two = socket.socketpair()
    one.send(b"x")
    assert two.recv(1) == b"x"
    os.close(os.memfd_create("x"))
    assert Path("/dev/shm").is_dir() and Path("/dev/udmabuf").exists() and Path("/dev/dma_heap/system").exists()


@guest_sleeps
def test_kernel_goes_through_the_devices_part_of_sleep(kernel_log: KernelLog) -> None:
    sleep()
    assert "suspend exit" in kernel_log.read()


@pytest.mark.skipif(not IN_QEMU, reason="User-Mode Linux has one processor, no preemption and no IOMMU")
def test_processors_preemption_and_an_iommu_that_acts_at_once(cards: list[Card]) -> None:
    assert os.cpu_count() == 2
    assert "(full)" in Path("/sys/kernel/debug/sched/preempt").read_text()
    for card in cards:
        assert card.attribute("iommu_group/type") == "DMA", "not DMA-FQ, which lets a card reach for some time what was unmapped"


def test_events_can_be_traced() -> None:
    tracing = Path("/sys/kernel/tracing")
    (tracing / "events/sched/sched_switch/enable").write_text("1")
    time.sleep(0.05)
    (tracing / "events/sched/sched_switch/enable").write_text("0")
    assert "sched_switch" in (tracing / "trace").read_text()
