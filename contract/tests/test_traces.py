# SPDX-License-Identifier: Apache-2.0
"""The golden traces can be read, say the same in Python and Rust, and a trace that breaks the protocol is caught."""

import subprocess
import sys
from pathlib import Path

import pytest

CONTRACT = Path(__file__).resolve().parents[1]
TRACES = sorted((CONTRACT / "traces").glob("*.trace"))
sys.path[:0] = [str(CONTRACT), str(CONTRACT / "traces")]
import cases  # noqa: E402
import generate  # noqa: E402
import golden  # noqa: E402


@pytest.fixture(scope="module")
def layout():
    return cases.layout(generate.read_contract(CONTRACT / "towpath.rdl"))


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.stem)
def test_a_trace_keeps_the_protocol(path, layout):
    golden.check(golden.load(path), layout)


def test_each_verb_is_explained():
    text = (CONTRACT / "traces" / "README.md").read_text()
    assert [v for v in [*golden.VERBS, *golden.DO] if f"`{v}" not in text] == []


def test_data():
    assert golden.data("-") == b""
    assert golden.data("00ff") == b"\x00\xff"
    pattern = golden.data("~3:600")
    assert len(pattern) == 600 and pattern[:3] == bytes([3, 40, 77]) and pattern[256] == 4
    assert golden.data("~9:70").hex() == cases.pattern(9, 70)


# Each plants one fault in a good trace: the trace, what is replaced (the first time it stands there), by what, and the complaint.
FAULTS = {
    "wrong phase": ("direct", "0x11 done 0x1", "0x11 done 0x0", "wants phase 1"),
    "ring place": ("direct", "entry tx 0x100000010", "entry tx 0x100000020", "belongs at 0x100000010"),
    "phase never flips": ("wrap", "0x51 done 0x0", "0x51 done 0x1", "wants phase 0"),
    "wrong cookie": ("cancel", "0x11 cancelled", "0x12 cancelled", "ends next"),
    "completion lost": ("reset", "entry rx 0x100001010 0x0 - - 0x12 reset 0x1\n", "", "reset with 1 descriptors queued"),
    "completed twice": ("malformed", "settle", "entry tx 0x100000040 0x0 0x0 0x0 0x13 done 0x1", "nothing is queued"),
    "torn runs": ("torn", "0x11 torn", "0x11 done", "cannot end with done"),
    "whole one called torn": ("words", "0x11 done", "0x11 torn", "nobody asked for torn"),
    "bytes made up": ("direct", "entry rx 0x100001000 0x64", "entry rx 0x100001000 0x65", "101 bytes completed, 100 written"),
    "bytes lost at the core": ("direct", "take tx ~3:5000", "take tx ~3:4999", "the core's side of"),
    "interrupt unasked": ("direct", "settle", "irq 0x0", "was not armed"),
    "interrupt lost": ("arm", "irq 0x0", "", "interrupt due on vector 0"),
    "overflow uncounted": ("overflow", "load rx.privileged 0x1c 32 0x1", "load rx.privileged 0x1c 32 0x0", "CHANNEL_OVERFLOWS is 1"),
    "no such page word": ("direct", "store tx.doorbell 0x8 64", "store tx.doorbell 0x18 64", "nothing at 0x18"),
    "misaligned": ("direct", "store tx.doorbell 0x8 64", "store tx.doorbell 0x4 64", "no such access"),
    "status": ("faults", "0x12 unsupported_request 0x1", "0x12 refused 0x1", "no such status"),
    "start that completes": ("start", "none", "done", "completes nothing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault, layout):
    name, old, new, complaint = FAULTS[fault]
    text = (CONTRACT / "traces" / f"{name}.trace").read_text()
    assert old in text
    with pytest.raises(golden.TraceError, match=complaint):
        golden.check(golden.parse(text.replace(old, new, 1)), layout)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "starts with"),
        ("trace 2 x\nreplay both\n", "another format"),
        ("trace 1 x\nreplay nobody\n", "second line"),
        ("trace 1 x\nreplay both\nfly\n", "x:3: no such verb: fly"),
        ("trace 1 x\nreplay both\nirq\n", "x:3: irq wants 1 words"),
        ("trace 1 x\nreplay both\ndo nothing\n", "x:3: `do` wants one of"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(text, complaint):
    with pytest.raises(golden.TraceError, match=complaint):
        golden.parse(text, "x")


def test_rust_reads_the_same(tmp_path):
    """golden.rs prints what it read; Python prints the same from its own reading."""
    source = tmp_path / "dump.rs"
    source.write_text(
        f"""#[path = "{CONTRACT}/traces/golden.rs"]
mod golden;
fn main() {{
    for path in std::env::args().skip(1) {{
        let trace = golden::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        println!("{{}} {{}}", trace.name, trace.replay);
        for line in trace.lines.iter().filter(|l| l.verb != "channel") {{
            println!("{{}} {{}} {{}}", line.number, line.verb, line.words.join(" "));
            if line.verb == "writes" {{
                let bytes = golden::data(&line.words[2]).unwrap();
                println!("{{}} {{:?}}", golden::number(&line.words[1]).unwrap(), bytes);
            }}
        }}
    }}
    assert!(golden::parse("trace 2 x\\nreplay both").is_err() && golden::number("0xg").is_err() && golden::data("abc").is_err());
}}
"""
    )
    built = subprocess.run(
        ["rustc", "--edition", "2021", "-D", "warnings", source, "-o", tmp_path / "dump"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([tmp_path / "dump", *TRACES], capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    expected = []
    for path in TRACES:
        trace = golden.load(path)
        expected.append(f"{trace.name} {trace.replay}")
        for line in trace.lines:
            expected.append(f"{line.number} {line.verb} {' '.join(line.words)}")
            if line.verb == "writes":
                expected.append(f"{golden.number(line.words[1])} {list(golden.data(line.words[2]))}")
    assert printed.stdout.splitlines() == expected
