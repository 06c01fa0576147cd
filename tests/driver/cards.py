# SPDX-License-Identifier: Apache-2.0
"""The simulated cards that a guest finds on its PCI bus: one process each, behind a socket.

A test inside the guest asks for what only the outside can do by a line over a channel, and gets a line back:

    kill N          the card's process is gone at once, as a card that is pulled out
    start N WORDS   it is there again, at the same socket (the guest then plugs it in; see Card.start in guest/inside.py), perhaps with
                    settings of `towpath sim --set`
    stop N, cont N  it stands still, and goes on
    signal N NAME   its process gets the signal of that name
    fault N WORDS   a fault on its link, in the words of `towpath sim --faults`

The answer is "ok", or what went wrong.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The user core of each card, in the order in which they stand on the bus.
CORES = ("loopback", str(ROOT / "tests/cores/loop3x2_qos"), "scratchpad")
FAULT_SECONDS = 10


class Failed(Exception):
    """A card, or a guest for it, cannot be had; the text says why."""


class Card:
    def __init__(self, command: list[str], core: str, folder: Path, number: int) -> None:
        self.socket = folder / f"card{number}"
        self.log = folder / f"card{number}.log"
        self.command = [word.replace("CORE", core).replace("SOCKET", str(self.socket)) for word in command]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *settings: str) -> None:
        if self.process is not None and self.process.poll() is None:
            raise Failed("it is running")
        self.socket.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, *(word for setting in settings for word in ("--set", setting))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={"TOWPATH_HOME": str(ROOT)} | os.environ,
            )
        assert self.process.stdout is not None
        # The first line says that it is ready; a card that cannot be had ends without one.
        if not self.process.stdout.readline() or not self.socket.exists():
            self.process.wait()
            raise Failed(f"{' '.join(self.command)}: {self.log.read_text(errors='replace').strip()[-2000:]}")

    def signal(self, number: int) -> None:
        if self.process is None or self.process.poll() is not None:
            raise Failed("it is not running")
        self.process.send_signal(number)

    def fault(self, words: str) -> None:
        self.signal(0)
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{words}\n".encode())
        self.process.stdin.flush()
        # It repeats the words when it has done so, and else says nothing there.
        if not select.select([self.process.stdout], [], [], FAULT_SECONDS)[0] or self.process.stdout.readline() != f"{words}\n".encode():
            raise Failed(f"the card did not take it: {self.log.read_text(errors='replace').strip()[-500:]}")

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    stream.close()


class Cards:
    """All cards of one guest, with the thread that answers it."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.cards = [Card(command, core, folder, number) for number, core in enumerate(CORES)]
        self.ours, self.guests = socket.socketpair()
        self.answering = threading.Thread(target=self.answer, daemon=True)

    def __enter__(self) -> Cards:
        try:
            for card in self.cards:
                card.start()
        except Failed:
            self.__exit__()
            raise
        self.answering.start()
        return self

    def __exit__(self, *_: object) -> None:
        for card in self.cards:
            card.end()
        self.ours.close()
        self.guests.close()

    def answer(self) -> None:
        try:
            with self.ours.makefile("rw", newline="\n") as lines:
                for line in lines:
                    lines.write(self.done(line.split()) + "\n")
                    lines.flush()
        except (OSError, ValueError):
            return  # the guest has ended

    def done(self, words: list[str]) -> str:
        try:
            verb, number, *more = words
            card = self.cards[int(number)]
            if verb == "signal":
                card.signal(signal.Signals[more[0]])
            elif verb == "fault":
                card.fault(" ".join(more))
            elif verb == "start":
                card.start(*more)
            else:
                {
                    "kill": card.kill,
                    "stop": lambda: card.signal(signal.SIGSTOP),
                    "cont": lambda: card.signal(signal.SIGCONT),
                }[verb]()
        except (ValueError, IndexError, KeyError):
            return f"not understood: {' '.join(words)}"
        except (Failed, OSError) as why:
            return f"{' '.join(words)}: {why}".replace("\n", " ")
        return "ok"
