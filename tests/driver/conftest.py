# SPDX-License-Identifier: Apache-2.0
"""What tests inside a guest share: the cards, the module, programs, the kernel's log, and a way to ask the outside.

    def test_that_it_echoes(driver, card, shell):
        assert shell(f"printf hello > {card.files['in']}; head -c 5 {card.files['out']}").stdout == "hello"

The tests of guest/ and plants/ run in a guest only; outside of it they are not collected (`./run test driver` starts one).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "guest"), str(HERE / "soak"), str(HERE.parent)]
from inside import FLAVOUR, Card, KernelLog, Module, Outside, say  # noqa: E402

# A test that takes longer hangs.
TEST_SECONDS = int(os.environ.get("TOWPATH_SOAK_SECONDS", 60 if FLAVOUR == "plain" else 180))

if not FLAVOUR:
    collect_ignore_glob = ["guest/test_*.py", "plants/test_*.py", "soak/test_*.py"]


@pytest.fixture(scope="session")
def outside() -> Outside:
    return Outside()


@pytest.fixture(scope="session")
def cards(outside: Outside) -> list[Card]:
    return [Card(number, outside) for number in range(len(os.environ["TOWPATH_GUEST_CARDS"].split()))]


@pytest.fixture(scope="session")
def card(cards: list[Card]) -> Card:
    """The first, whose core is loopback."""
    return cards[0]


@pytest.fixture(scope="session")
def scratchpad(cards: list[Card]) -> Card:
    """The last, whose core has a memory."""
    return cards[2]


@pytest.fixture(scope="session")
def driver() -> Iterator[Module]:
    """The driver, loaded; a test that unloads it loads it again."""
    module = Module(Path(os.environ["TOWPATH_GUEST_MODULE"]))
    module.load()
    yield module
    module.unload()


@pytest.fixture
def shell() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a line of shell to its end, which is good, as its output is text, unless the test says otherwise."""

    def run(line: str, check: bool = True, seconds: float = 30, text: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=text, check=check, timeout=seconds)

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts programs, which are killed at the test's end if they still run."""
    with contextlib.ExitStack() as stack:

        def run(*command: str | Path, **options: object) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
            stack.callback(lambda: (process.kill(), process.wait()))
            return process

        yield run


@pytest.fixture
def kernel_log() -> Iterator[KernelLog]:
    log = KernelLog()
    yield log
    os.close(log.device)


@pytest.fixture(autouse=True)
def marked_and_bounded(request: pytest.FixtureRequest) -> Iterator[None]:
    """In a guest, the kernel's log says which test runs, and a test that hangs fails."""
    if not FLAVOUR:
        yield
        return
    say(request.node.name)

    def late(*_: object) -> None:
        pytest.fail(f"not done after {TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
