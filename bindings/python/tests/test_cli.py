# SPDX-License-Identifier: Apache-2.0
"""The command line as the package brings it, with the simulated cores: files, streams, JSON and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

NUMBERS = ("--device", "sim:counter", "recv", "out", "--write", "length=100000", "--write", "seed=7", "--write", "control=1")


def towpath(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "towpath", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=180)


def numbers(length: int, seed: int) -> bytes:
    """What the core "counter" sends."""
    return np.arange(seed, seed + (length + 3) // 4, dtype="<u4").tobytes()[:length]


def test_list_and_info() -> None:
    listed = json.loads(towpath("list", "--json").stdout)["devices"]
    assert {"sim:loopback", "sim:sobel"} <= {device["name"] for device in listed}
    done = towpath("info", "--device", "sim:loopback", "--json")
    info = json.loads(done.stdout)
    assert info["core"] == "loopback" and info["registers"]["scratch"] == 4
    assert {c["name"]: c["direction"] for c in info["channels"]} == {"in": "h2c", "out": "c2h"}
    assert info["link"]["unsupported_requests"] == info["link"]["quarantined"] == 0
    shown = towpath("info", "--device", "sim:loopback").stdout
    assert b"loopback" in shown and b"late completions" in shown


def test_send_with_a_reply(tmp_path: Path) -> None:
    message = np.random.default_rng(2).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
    (tmp_path / "one").write_bytes(message[:1000])
    (tmp_path / "two").write_bytes(message[1000:])
    done = towpath(
        *("--json", "--device", "sim:loopback", "send", "in", tmp_path / "one", tmp_path / "two"),
        *("--reply", f"out={tmp_path / 'back'}", "--user", "0x11", "--length", "--block", "64K"),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "back").read_bytes() == message
    said = json.loads(done.stdout)
    assert said["bytes"] == len(message) and said["nanoseconds"] > 0
    assert said["reply"]["messages"] == [{"bytes": len(message), "offset": 0, "user": 0x11, "end_of_message": True}]


def test_standard_streams() -> None:
    done = towpath("--device", "sim:loopback", "send", "in", "--reply", "out=-", stdin=b"through a pipe")
    assert (done.returncode, done.stdout) == (0, b"through a pipe"), done.stderr
    assert b"14 bytes sent" in done.stderr
    assert b"\x1b" not in done.stderr and b"\r" not in done.stderr, "no progress bar in a pipe"


def test_an_empty_message() -> None:
    done = towpath("--json", "--device", "sim:loopback", "send", "in", "--reply", "out=-")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert json.loads(done.stderr)["reply"]["messages"] == [{"bytes": 0, "offset": 0, "user": 0, "end_of_message": True}]


def test_recv_messages_and_bytes(tmp_path: Path) -> None:
    done = towpath(*NUMBERS, tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "all").read_bytes() == numbers(100_000, 7)
    done = towpath(*NUMBERS, "--bytes", "1K", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, numbers(1024, 7), b"")
    done = towpath(*NUMBERS, "--write", "count=3", "--write", "length=10", "--write", "control=1", "--messages", "1", tmp_path / "one")
    assert done.returncode == 0, done.stderr


def test_files_by_option(tmp_path: Path) -> None:
    done = towpath(*NUMBERS, "-o", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "all").read_bytes() == numbers(100_000, 7)
    done = towpath(*NUMBERS, "--quiet", "--output", "-")
    assert (done.returncode, done.stdout) == (0, numbers(100_000, 7)), done.stderr
    files = ("-i", tmp_path / "all", "--input", "-")
    done = towpath("--device", "sim:loopback", "send", "in", *files, "--reply", "out=-", "--quiet", stdin=b"and the rest")
    assert (done.returncode, done.stdout) == (0, numbers(100_000, 7) + b"and the rest"), done.stderr


def test_standard_input_that_is_a_file_has_a_length(tmp_path: Path) -> None:
    (tmp_path / "all").write_bytes(bytes(1000))
    command = [sys.executable, "-m", "towpath", "--device", "sim:loopback", "send", "in", "-", "-", "--length", "--reply", "out=-"]
    with (tmp_path / "all").open("rb") as file:
        file.seek(400)
        done = subprocess.run(command, stdin=file, capture_output=True, timeout=180)
    assert (done.returncode, done.stdout) == (0, bytes(600)), done.stderr


def test_registers_and_interrupts() -> None:
    done = towpath("--device", "sim:loopback", "--json", "reg", "read", "id", "0x4")
    values = json.loads(done.stdout)["registers"]
    assert [(v["offset"], v["name"], v["value"]) for v in values][1] == (4, "scratch", 0)
    assert values[0]["value"] != 0
    assert towpath("--device", "sim:loopback", "reg", "write", "scratch", "0x55").returncode == 0
    assert b"scratch" in towpath("--device", "sim:loopback", "reg", "dump").stdout
    ranged = json.loads(towpath("--device", "sim:loopback", "--json", "reg", "dump", "--range", "0", "0x8").stdout)["registers"]
    assert [v["offset"] for v in ranged] == [0, 4, 8]
    counted = json.loads(towpath("--device", "sim:loopback", "--json", "irq", "count", "0").stdout)
    assert counted == {"interrupts": [{"number": 0, "count": 0}]}


@pytest.mark.parametrize(
    ("code", "says", "arguments"),
    [
        (2, "--timeout", ["recv", "out", "--timeout", "soon"]),
        (3, "nowhere", ["send", "nowhere"]),
        (3, "out", ["send", "out"]),
        (3, "nowhere", ["reg", "read", "nowhere"]),
        (3, "0x100000", ["reg", "read", "0x100000"]),
        (3, "no interrupt 99", ["irq", "wait", "99"]),
        (4, "after 0 bytes", ["recv", "out", "--timeout", "20us"]),
        (4, "interrupt 0", ["irq", "wait", "0", "--timeout", "20us"]),
        (7, "/no/such/folder", ["recv", "out", "/no/such/folder/file"]),
        (7, "/no/such/file", ["send", "in", "/no/such/file"]),
    ],
)
def test_exit_codes(code: int, says: str, arguments: list[str]) -> None:
    done = towpath("--device", "sim:loopback", *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr.decode()
    assert done.stdout == b""


def test_no_such_core() -> None:
    done = towpath("info", "--device", "sim:no-such-core")
    assert done.returncode in (3, 5) and b"no-such-core" in done.stderr


def test_a_full_disk() -> None:
    done = towpath(*NUMBERS, "/dev/full")
    assert done.returncode == 7
    assert b"/dev/full" in done.stderr and b"No space left" in done.stderr and b"make room" in done.stderr


def test_a_reader_that_ends_first() -> None:
    command = [sys.executable, "-m", "towpath", *NUMBERS, "--block", "4K"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=120) == 7
    assert b"standard output" in said and b"reader ended" in said


def test_run_passes_on_the_exit_code_and_names_the_device(tmp_path: Path) -> None:
    program = "import os, sys; print(os.environ['TOWPATH_DEVICE']); sys.exit(37)"
    done = towpath("run", "--core", "loopback", "--set", "mps=256", "--", sys.executable, "-c", program)
    assert done.returncode == 37, done.stderr
    assert done.stdout.decode().strip() == "sim:loopback?mps=256"
    done = towpath("run", "--core", "loopback", "--", tmp_path / "nothing")
    assert done.returncode == 127 and b"nothing" in done.stderr
    (tmp_path / "plain").write_text("no program")
    done = towpath("run", "--core", "loopback", "--", tmp_path / "plain")
    assert done.returncode == 126 and b"plain" in done.stderr


def test_run_traces(tmp_path: Path) -> None:
    program = "import towpath\nwith towpath.open() as card:\n    card.send('in', b'x'); card.recv('out')"
    done = towpath("run", "--core", "loopback", "--trace", "wave.fst", "--", sys.executable, "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "wave.fst").stat().st_size > 1000


def test_run_with_a_core_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "towpath.toml").write_text(
        '[core]\nname = "broken"\nversion = 1\ntop = "broken"\nsources = ["broken.sv"]\nwidth = 128\n'
        '[[channel]]\nname = "in"\ndirection = "h2c"\n'
    )
    (tmp_path / "broken.sv").write_text("module broken (\n    input logic clk,\n    this is not it\n);\nendmodule\n")
    done = towpath("run", "--core", tmp_path, "--", "true")
    assert done.returncode == 5
    assert f"{tmp_path}/broken.sv:3" in done.stderr.decode()


@pytest.mark.usefixtures("keyboard")
def test_an_interrupt_from_the_keyboard_ends_it() -> None:
    command = [sys.executable, "-m", "towpath", "--device", "sim:loopback", "recv", "out", "--timeout", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT


ROW = {
    **dict.fromkeys(("direction", "notify", "descriptor"), str),
    **dict.fromkeys(
        ("channels", "width", "generation", "lanes", "mps", "mrrs", "transmit_buffer", "read_latency_ns", "wake_ns", "size", "in_flight"),
        int,
    ),
    **dict.fromkeys(("end_to_end_percent", "while_data_flows_percent", "header_only_percent", "nanoseconds"), float),
}


def test_bench_writes_its_rows(tmp_path: Path) -> None:
    done = towpath("bench", "--quick", "--only", "blocking call by polling", "--json", tmp_path / "rows.json")
    assert done.returncode == 0, done.stderr
    assert b"| c2h | 4 KiB |" in done.stdout and b"| h2c | 4 KiB |" in done.stdout, "the tables as well"
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["direction"] for row in rows] == ["c2h", "h2c"]
    for row in rows:
        assert {key: type(value) for key, value in row.items()} == ROW
        assert (row["width"], row["generation"], row["lanes"], row["size"], row["notify"]) == (128, 2, 8, 4096, "poll")
        # The limit is a limit, and the time and the percentage tell of the same: payload of 128 in 148 or 152 bytes of a link of 4 GB/s.
        assert 0 < row["end_to_end_percent"] < row["while_data_flows_percent"] <= 100.01
        best = 4096 / (4.0 * 128 / (152 if row["direction"] == "c2h" else 148))
        assert row["nanoseconds"] == pytest.approx(100 * best / row["end_to_end_percent"], rel=1e-4)
    again = json.loads(towpath("bench", "--quick", "--only", "blocking call by polling", "--json").stdout)
    assert again == rows, "simulated time is the same in each run"


def test_bench_knows_delays() -> None:
    (row,) = json.loads(towpath("bench", "--quick", "--only", "There and back", "--json").stdout)
    assert {key for key, value in row.items() if value is None} == {
        "end_to_end_percent",
        "while_data_flows_percent",
        "header_only_percent",
    }
    assert (row["direction"], row["size"], row["descriptor"]) == ("round-trip", 8, "inline") and row["nanoseconds"] > 250
