# SPDX-License-Identifier: Apache-2.0
"""The library's messages are records of Python's logging."""

from __future__ import annotations

import concurrent.futures
import logging
import subprocess
import sys
import threading

import pytest

import towpath


def messages(caplog: pytest.LogCaptureFixture, logger: str, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if (record.name, record.levelno) == (logger, level)]


def test_what_is_done_to_a_card_is_told_by_module(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "towpath_userspace")
    with towpath.open("sim:loopback") as card:
        card.send("in", b"not told")
        assert card.recv("out") == b"not told"
        card.reset()
        card.submit_recv("out", bytearray(10)).cancel()
    (opened,) = [m for m in messages(caplog, "towpath_userspace", logging.INFO) if "contract" in m]
    assert opened.startswith("sim:loopback: core loopback, version ") and "in (h2c), out (c2h)" in opened
    assert "sim:loopback: resetting the card" in messages(caplog, "towpath_userspace", logging.INFO)
    of_channels = messages(caplog, "towpath_userspace.channel", logging.DEBUG)
    assert len([m for m in of_channels if "opened; waits adaptively" in m]) == 2
    assert [m for m in of_channels if m.endswith('channel "out": cancelling; transfers: 1')]
    assert {record.levelno for record in caplog.records if record.name.startswith("towpath_userspace")} == {logging.INFO, logging.DEBUG}


def said_by(program: str) -> str:
    """What a program of its own says, in a process that has logged nothing before."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_level_holds_from_when_it_is_set() -> None:
    said = said_by("""
import logging, towpath
logging.basicConfig()
logger = logging.getLogger("towpath_userspace")
with towpath.open("sim:loopback") as card:
    for level in (logging.WARNING, logging.INFO, logging.WARNING):
        logger.setLevel(level)
        card.reset()
""")
    assert said == "INFO:towpath_userspace:sim:loopback: resetting the card\n"


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_threads_log_while_others_wait(caplog: pytest.LogCaptureFixture, card: towpath.Device) -> None:
    caplog.set_level(logging.DEBUG, "towpath_userspace")

    def waits() -> None:
        with pytest.raises(towpath.TransferError):
            card.recv("out", timeout=None)

    def cancels() -> None:
        while waiting.is_alive():
            card.cancel("out")

    waiting = threading.Thread(target=waits, daemon=True)
    others = [threading.Thread(target=cancels, daemon=True) for _ in range(3)]
    for thread in (waiting, *others):
        thread.start()
    for thread in (waiting, *others):
        thread.join(60)
        assert not thread.is_alive()
    assert [m for m in messages(caplog, "towpath_userspace.channel", logging.DEBUG) if "transfers: 1" in m]


def test_a_filter_that_raises_fails_no_call(
    card: towpath.Device, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "towpath_userspace")

    def fails(record: logging.LogRecord) -> bool:
        raise ValueError(record.getMessage())

    def resets() -> None:
        card.reset()
        done.append("reset")

    reported: list[BaseException | None] = []
    done: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.append(unraisable.exc_value))
    monkeypatch.setattr(logging.getLogger("towpath_userspace"), "filters", [fails])
    # Beside the main thread, where the call is made by the thread that asks for it.
    thread = threading.Thread(target=resets)
    thread.start()
    thread.join()
    assert done == ["reset"]
    assert [str(error) for error in reported] == ["sim:loopback: resetting the card"]


def test_a_program_that_ends_with_a_card_open_ends_well() -> None:
    """While another thread is in the library, which calls a handler in Python and gives buffers back. What can go wrong there does so in
    one end of twenty: many programs, a few at a time."""

    def says(turn: int) -> str:
        return said_by(f"""
import logging, threading, time, towpath

class Pauses(logging.StreamHandler):
    def emit(self, record):
        time.sleep({(0, 0.001, 0.02)[turn % 3]})
        super().emit(record)

class EndsSlowly:
    def __del__(self, sleep=time.sleep):
        sleep({(0, 0.001, 0.01, 0.1)[turn % 4]})

def use():
    while True:
        ticket = card.submit_recv("out", bytearray(10))
        begun.set()
        card.reset()

logging.basicConfig(level=logging.DEBUG, handlers=[Pauses()], format=logging.BASIC_FORMAT)
begun = threading.Event()
card = towpath.open("sim:loopback")
kept = EndsSlowly()
threading.Thread(target=use, daemon=True).start()
begun.wait()
""")

    with concurrent.futures.ThreadPoolExecutor(4) as several:
        for said in several.map(says, range(36)):
            assert "INFO:towpath_userspace:sim:loopback: core loopback" in said
            assert "panicked" not in said and "Traceback" not in said, said
