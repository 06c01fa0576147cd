# SPDX-License-Identifier: Apache-2.0
"""The rig's own parts that need no guest."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import complaints
import debian
import guest
import kernel
import run
import suites
from cards import Card, Cards, Failed

HEALTHY = """\
[    0.000000] Linux version 6.1.176-towpath
[    0.010000] kmemleak: Kernel memory leak detector initialized (mem pool available: 39000)
[    0.020000] DMA-API: preallocated 65536 debug entries
[    0.030000] DMA-API: debugging enabled by kernel config
[    0.040000] KernelAddressSanitizer initialized
[    0.050000] lock_stat: no warnings here, and no bugs
[    1.000000] towpath: test_that_is_good
[    1.100000] towpath 0000:00:00.0: 2 channels
"""
ILL = [
    "BUG: KASAN: use-after-free in towpath_poll+0x10/0x20 [towpath]",
    "WARNING: CPU: 0 PID: 1 at drivers/pci/msi/msi.c:1 x+0x1/0x2",
    "DMA-API: towpath 0000:00:00.0: device driver frees DMA memory with different size",
    "DMA-API: towpath 0000:00:00.0: cacheline tracking EEXIST, overlapping mappings aren't supported",
    "WARNING: possible circular locking dependency detected",
    "INFO: trying to register non-static key.",
    "INFO: task cat:42 blocked for more than 20 seconds.",
    "kmemleak: unreferenced object 0x000000006 (size 1024):",
    'irq 20: nobody cared (try booting with the "irqpoll" option)',
    "Kernel panic - not syncing: Attempted to kill init!",
    "sysfs: cannot create duplicate filename '/class/towpath/towpath0'",
    "usercopy: Kernel memory exposure attempt detected from SLUB object",
    "unregister_netdevice: Unregistered too early",
]


def test_healthy_kernel_does_not_complain() -> None:
    assert complaints.find(HEALTHY) == []


@pytest.mark.parametrize("line", ILL)
def test_complaint_is_found_with_the_test_it_belongs_to(line: str) -> None:
    found = complaints.find(f"{HEALTHY}[    2.000000] towpath: test_that_is_bad\n[    2.100000] {line}\n[    2.2] Call Trace:\n")
    assert len(found) == 1
    assert found[0].startswith("during test_that_is_bad:\n") and line in found[0] and "Call Trace" in found[0]


def test_each_of_several_complaints_is_found() -> None:
    calm = "[    3.000000] nothing\n" * complaints.CONTEXT
    assert len(complaints.find(f"{ILL[0]}\n{calm}{ILL[1]}\n")) == 2


def test_options_that_a_kernel_refuses_are_named() -> None:
    asked = "# a comment\nCONFIG_A=y\n\n# CONFIG_B is not set\nCONFIG_C=64\n"
    assert kernel.refused_options(asked, "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=64\n") == []
    assert kernel.refused_options(asked, "# CONFIG_A is not set\nCONFIG_B=y\n") == ["CONFIG_A=y", "# CONFIG_B is not set", "CONFIG_C=64"]


def test_each_patch_says_why() -> None:
    assert kernel.patches()
    for patch in kernel.patches():
        head = patch.read_text().split("\n--- ")[0]
        assert len(head) > 100, f"{patch.name} has no head"


# A card that says that it is ready, and then takes every fault but one.
SERVES = ["bash", "-c", 'touch SOCKET; echo CORE is ready; while read -r words; do [ "$words" = no ] || echo "$words"; done']


def test_cards_start_and_end_and_do_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cards.FAULT_SECONDS", 1)
    with Cards(SERVES, tmp_path) as cards:
        process = cards.cards[0].process
        assert process is not None and all(card.socket.exists() for card in cards.cards)
        lines = cards.guests.makefile("rw")

        def ask(line: str) -> str:
            lines.write(f"{line}\n")
            lines.flush()
            return str(lines.readline())

        assert ask("start 0") == "start 0: it is running\n"
        assert ask("stop 0") == "ok\n" and ask("cont 0") == "ok\n"
        assert ask("kill 0") == "ok\n" and process.wait() == -signal.SIGKILL
        assert ask("kill 0") == "kill 0: it is not running\n"
        assert ask("start 0") == "ok\n"
        assert ask("fault 1 drop 3") == "ok\n" and ask("fault 1 no").startswith("fault 1 no: the card did not take it")
        assert ask("signal 0 SIGTERM") == "ok\n" and ask("signal 0 NOTHING") == "not understood: signal 0 NOTHING\n"
        for wrong in ("kill 99", "explode 0", "kill", "", "kill one"):
            assert ask(wrong) == f"not understood: {wrong}\n"
        started = [card.process for card in cards.cards]
    assert all(process is not None and process.poll() is not None for process in started)


def test_what_tests_say_is_shown_but_for_skips() -> None:
    kept = [
        "guest/test_bus.py::test_bars PASSED [ 10%]\n",
        "guest/test_bus.py::test_that_fails FAILED [ 30%]\n",
        "E   AssertionError: a line that says SKIPPED [1]\n",
        "=== 1 passed, 1 failed, 2 skipped in 1.00s ===\n",
    ]
    skips = [
        "guest/test_bus.py::test_errors[a b] SKIPPED (User-Mode Linux has none) [ 20%]\n",
        "guest/test_bus.py::test_errors_too SKIPPED [100%]\n",
        "SKIPPED [2] guest/test_bus.py:7: User-Mode Linux has none\n",
    ]
    assert guest.without_skips("".join([kept[0], *skips, *kept[1:]])) == "".join(kept)


def test_card_that_cannot_be_had_says_why(tmp_path: Path) -> None:
    card = Card(["bash", "-c", "echo no such core >&2; exit 3"], "loopback", tmp_path, 0)
    with pytest.raises(Failed, match="no such core"):
        card.start()


@pytest.mark.parametrize(
    ("error", "counts"),
    [(kernel.Missing("no way there"), (0, 0, 1)), (kernel.Broken("it does not build"), (0, 1, 0)), (Failed("no card"), (0, 1, 0))],
)
def test_machine_that_cannot_is_a_skip_and_a_fault_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, counts: tuple[int, int, int]
) -> None:
    def build(_flavour: str) -> Path:
        raise error

    monkeypatch.setattr(kernel, "build", build)
    code = run.main(["--report", str(tmp_path / "report.xml")])
    result = suites.read_junit("", tmp_path / "report.xml")
    assert (result.passed, len(result.failures), len(result.skips)) == counts and code == counts[1]
    assert counts[2] == 0 or "no way there" in result.skips[0]


def test_machine_that_was_not_fetched_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "FOLDER", tmp_path / "none")
    assert run.main(["--kernel", "qemu", "--report", str(tmp_path / "report.xml")]) == 0
    (skip,) = suites.read_junit("", tmp_path / "report.xml").skips
    assert "./run test driver-qemu --setup" in skip


def test_card_that_reaches_too_far_is_a_failure(tmp_path: Path) -> None:
    calm, wild = "core taken from the cache\n", "warn: loopback: the card reads 64 bytes at 0xfffd0000, which is not mapped for it\n"
    ended = guest.Ended(HEALTHY, 0, tmp_path / "none")
    plants = guest.Ended(f"{HEALTHY}[    2.0] towpath: test_memory_taken_away_from_a_card\n", 0, tmp_path / "none")
    for tests, of, logs, failed in [
        ("guest", ended, [calm, calm], False),
        ("guest", ended, [calm, wild], True),
        ("plants", plants, [calm, calm], True),
        ("plants", plants, [wild, calm], False),
    ]:
        report = run.Report()
        run.judge(report, tests, of, logs)
        assert report.failed == failed, (tests, logs)


def test_guest_that_dies_or_complains_is_a_failure(tmp_path: Path) -> None:
    for ended, failures in [
        (guest.Ended(HEALTHY, 0, tmp_path / "none"), 0),
        (guest.Ended(HEALTHY, None, tmp_path / "none", "it ended before its tests did, during test_that_is_good"), 1),
        (guest.Ended(f"{HEALTHY}[    2.0] {ILL[0]}\n", 0, tmp_path / "none"), 1),
    ]:
        report = run.Report()
        run.judge(report, "guest", ended, [])
        report.write(tmp_path / "report.xml")
        assert len(suites.read_junit("", tmp_path / "report.xml").failures) == failures
        assert report.failed == bool(failures)
