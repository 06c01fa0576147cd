#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs, on the main thread and on another: prints microseconds a call, and judges nothing.

    python tests/cost/python_calls.py [--calls N] [--rounds N] [PYTHON ...]

With other interpreters as arguments, each of whose environments has a towpath of its own, all are measured in turn, round by round, so that
they can be compared on a machine that others use as well. The least of the rounds counts. `now_ns` is a call that does nothing; the
simulated card's own work is part of a send.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import towpath


def microseconds(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def beside(call: Callable[[], float]) -> float:
    """In a thread of its own."""
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


def measure(calls: int) -> dict[str, float]:
    message = bytes(64)
    with towpath.open("sim:sink") as card:
        kinds: dict[str, Callable[[], object]] = {
            "send of 64 bytes": lambda: card.send("in", message),
            "submit and wait": lambda: card.submit_send("in", message).wait(),
            "now_ns": card.now_ns,
        }
        if hasattr(card, "allocate"):
            buffer, channel = card.allocate(64), card["in"]
            kinds["send of 64 bytes, buffer"] = lambda: channel.send(buffer)
        figures = {}
        for name, call in kinds.items():
            microseconds(call, calls // 10)
            figures[f"{name}, main"] = microseconds(call, calls)
            figures[f"{name}, other thread"] = beside(lambda call=call: microseconds(call, calls))  # type: ignore[misc]
        return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one round, as a machine reads it")
    parser.add_argument("python", nargs="*", default=[sys.executable])
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps(measure(arguments.calls)))
        return
    rounds: dict[str, list[dict[str, float]]] = {python: [] for python in arguments.python}
    for _ in range(arguments.rounds):
        for python in arguments.python:
            command = [python, __file__, "--json", "--calls", str(arguments.calls)]
            rounds[python].append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    for python, figures in rounds.items():
        print(python)
        for name in figures[0]:
            times = [figure[name] for figure in figures]
            print(f"  {min(times):8.1f} us (median {statistics.median(times):.1f})  {name}")


if __name__ == "__main__":
    main()
