# SPDX-License-Identifier: Apache-2.0
"""A child of fork has its parent's card, and must neither use nor close it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
import loopback

# Opens a card, has a transfer in flight, runs a child of the kind asked for, and tells how it ended; then looks at the parent's transfers.
PROGRAM = """
import multiprocessing, os, sys, time, warnings
import towpath

warnings.simplefilter("ignore")  # Python 3.12 and newer warn of threads beside a fork
name, kind = sys.argv[1:]
card = towpath.open(name)
card.send("in", b"before")
assert card.recv("out") == b"before"
out = bytearray(8)
ticket = card.submit_recv("out", out)
card.registers[4] = 7


def calls() -> None:
    for call in (
        lambda: card.send("in", b"child"),
        lambda: card.recv("out", timeout=1),
        lambda: card.submit_send("in", b"child"),
        lambda: ticket.wait(),
        lambda: ticket.done(),
        lambda: ticket.cancel(),
        lambda: card.cancel("in"),
        lambda: card.registers[4],
        lambda: card.interrupts[0].wait(timeout=1),
        lambda: card.reset(),
        lambda: card.link_counters(),
    ):
        try:
            call()
        except towpath.UsageError as error:
            assert "parent" in str(error), error
        else:
            raise SystemExit("a call in the child succeeded")


def child() -> None:
    global card, ticket
    if kind == "calls":
        calls()
    elif kind == "drops":
        del card, ticket
    elif kind == "closes":
        card.close()


if kind == "process":
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    code = process.exitcode
else:
    pid = os.fork()
    if pid == 0:
        child()
        sys.exit(0)
    for _ in range(300):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    code = os.waitstatus_to_exitcode(status) if done else "none: it hangs"
print("child:", code, flush=True)
card.send("in", b"after")
print("parent:", ticket.wait().bytes, bytes(out[:5]), card.registers[4], flush=True)
card.send("in", b"and on")
print("parent:", card.recv("out"), flush=True)
card.close()
"""


@pytest.fixture(scope="module", params=["sim", "vfio-user"])
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sim":
        yield "sim:loopback"
    else:
        with loopback.served(tmp_path_factory.mktemp("served"), sys.executable, "-m", "towpath") as name:
            yield name


@pytest.mark.parametrize("kind", ["exits", "process", "drops", "closes", "calls"])
def test_a_child_leaves_the_card_alone(device: str, kind: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(program), device, kind], capture_output=True, text=True, timeout=120)
    assert done.stdout == "child: 0\nparent: 5 b'after' 7\nparent: b'and on'\n", done.stderr
    assert done.returncode == 0
