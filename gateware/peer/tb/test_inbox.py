# SPDX-License-Identifier: Apache-2.0
"""Builds the inbox of an H2C channel at three widths and runs bench_inbox on it; then with faults planted, which the bench must find."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib/tb"))
import bench

HERE = Path(__file__).parent
BYTES = {64: 2048, 128: 1024, 512: 8192}
# A fault: at which width, what stands there, what stands there instead.
FAULTS = [
    (128, "SPARE = PARTS * (2 * MOST + 2);", "SPARE = 2;"),
    (64, "else if (over && !open) ours <= 1'b0;", "else if (over) ours <= 1'b0;"),
    (64, "if (rst || begins) second", "if (rst) second"),
    (64, "held == '0 && !came_valid;", "held == '0;"),
    (128, "closes = ends_slot && entry.cookie == slots", "closes = ends_slot"),
    (128, " && rows == 10'((entry.bytes[12:0] + 13'(KEEP - 1)) >> KW);", ";"),
    (128, " && entry.status != TP_STATUS_END_OF_MESSAGE;", ";"),
    (128, ": !begun ||", ": 1'b0 ||"),
    (128, "in_valid(came_valid && !overrun && !wrong)", "in_valid(came_valid && !overrun)"),
    (128, "if (drops || (paired && !link_up))", "if (drops)"),
    (128, "came_valid <= rx_valid && rx_pages == key[6:0] &&", "came_valid <= rx_valid &&"),
    (128, "note.bytes[KW-1:0] == '0 || i <", "i <"),
    (128, "note.status != TP_STATUS_CANCELLED &&", "1'b1 &&"),
    (128, "!(open && (shutting || noted && note.flags.start))", "!(open && shutting)"),
    (128, "!over && !host_open && !in_valid", "!over && !in_valid"),
    (128, "told <= allowed;", "told <= allowed + (ahead == 16'd1);"),
    (128, "if (&clock) again", "if (&clock && ahead != '0) again"),
    (128, "tell_valid = tells && paired", "tell_valid = tells"),
    (
        128,
        "if ((cuts || ends) && out_ready) begin\n      open <= 1'b0;\n      pending_valid <= 1'b0;",
        "if ((cuts || ends) && out_ready) begin\n      open <= 1'b0;",
    ),
    (512, "(slot_log2 - 4'(KW))) - 1'b1);", "(slot_log2 - 4'(KW))));"),
]


def sources() -> list[Path]:
    return [bench.PACKAGES[0], bench.ROOT / "gateware/lib/tp_deep_fifo.sv", bench.ROOT / "gateware/peer/tp_inbox.sv"]


def run(width: int, build: Path, files: list[Path]) -> None:
    bench.run("tp_inbox", files, HERE / "bench_inbox.py", build, {"DATA_WIDTH": width, "BYTES": BYTES[width], "TELL": 7}, quick=True)


@pytest.mark.parametrize("width", BYTES)
def test_inbox(width):
    run(width, bench.ROOT / f".towpath/benches/inbox-{width}", sources())


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_planted_faults(number, tmp_path, record_property, monkeypatch):
    monkeypatch.setenv("TOWPATH_SEED", "1")  # not every seed comes to each of them
    width, *fault = FAULTS[number]
    files = sources()
    source = next(f for f in files if f.stem == "tp_inbox")
    record_property("cached", bench.find_planted((source, *fault), files, tmp_path, HERE, lambda files: run(width, tmp_path, files)))
