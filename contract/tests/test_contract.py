# SPDX-License-Identifier: Apache-2.0
"""What is generated is current, and each language's own compiler takes it and agrees with the others on every number."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CONTRACT = Path(__file__).resolve().parents[1]
GENERATED = CONTRACT / "generated"
GENERATE = CONTRACT / "generate.py"

# The map as it was agreed: if one of these changes, hosts and cards in the field no longer fit together.
AGREED = {
    "TP_DISCOVERY_MAGIC_VALUE": int.from_bytes(b"TOWPATH\0", "little"),
    "TP_VERSION_MAJOR": 2,
    "TP_DISCOVERY_WINDOW_BYTES_OFFSET": 0x1C,
    "TP_DISCOVERY_CORE_NAME_OFFSET": 0x40,
    "TP_DISCOVERY_CHANNEL_ENTRY_OFFSET": 0x100,
    "TP_CHANNEL_ENTRY_BYTES": 64,
    "TP_CHANNEL_ENTRY_NAME_OFFSET": 0x20,
    "TP_CARD_USER_IRQ_COUNT_OFFSET": 0xC0,
    "TP_MSIX_PENDING_OFFSET": 0x800,
    "TP_CHANNEL_RING_BASE_OFFSET": 0x08,
    "TP_CHANNEL_CONSUMED_OFFSET": 0x28,
    "TP_DOORBELL_ARM_OFFSET": 0x10,
    "TP_DOORBELL_CANCEL_OFFSET": 0x14,
    "TP_DESCRIPTOR_CONTROL_END_MASK": 0x10,
    "TP_LIST_ENTRY_CONTROL_CHAIN_MASK": 2,
    "TP_COMPLETION_FLAGS_START_MASK": 2,
    "TP_STATUS_MALFORMED": 11,
    "TP_KIND_MESSAGE_LENGTH": 4,
    "TP_PAGE_CHANNELS": 4,
    "TP_INLINE_SLOT_BYTES": 64,
    "TP_CHANNELS_MAX": 60,
    "TP_PCI_VENDOR": 0x1234,
    "TP_PCI_DEVICE": 0x7470,
    "TP_PCI_CLASS": 0x120000,
}


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **options)


def passes(*command, **options):
    result = run(*command, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def header_names() -> list[str]:
    text = (GENERATED / "towpath.h").read_text()
    names = re.findall(r"^#define (TP_\w+) \S", text, re.M) + re.findall(r"^    (TP_\w+) = \d", text, re.M)
    assert len(names) > 150
    return [n for n in names if n != "TP_STATIC_ASSERT"]


@pytest.fixture(scope="module")
def c_numbers(tmp_path_factory) -> dict[str, int]:
    """Every constant of the header, as the C compiler evaluates it."""
    folder = tmp_path_factory.mktemp("c")
    prints = "".join(f'    printf("{n} %llu\\n", (unsigned long long){n});\n' for n in header_names())
    source = folder / "numbers.c"
    source.write_text(f'#include <stdio.h>\n#include "towpath.h"\nint main(void)\n{{\n{prints}    return 0;\n}}\n')
    passes("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{GENERATED}", source, "-o", folder / "numbers")
    return {name: int(number) for name, number in (line.split() for line in passes(folder / "numbers").splitlines())}


def test_nothing_is_stale():
    result = run(sys.executable, GENERATE, "--check")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["contract/generated/towpath.h", "docs/reference/contract.md", "contract/traces/torn.trace"])
def test_a_stale_file_is_named_with_the_remedy(tmp_path, name):
    passes(sys.executable, GENERATE, "--root", tmp_path)
    passes(sys.executable, GENERATE, "--root", tmp_path, "--check")
    (tmp_path / name).write_text((tmp_path / name).read_text() + "\n")
    result = run(sys.executable, GENERATE, "--root", tmp_path, "--check")
    assert result.returncode == 1
    assert f"{name}: stale" in result.stderr
    assert "mend with: python3 contract/generate.py" in result.stderr
    assert len(result.stderr.splitlines()) == 2
    (tmp_path / name).unlink()
    result = run(sys.executable, GENERATE, "--root", tmp_path, "--check")
    assert result.returncode == 1 and f"{name}: missing" in result.stderr


def test_a_trace_whose_case_is_gone_is_stale(tmp_path):
    passes(sys.executable, GENERATE, "--root", tmp_path)
    (tmp_path / "contract/traces/forgotten.trace").write_text("trace 1 forgotten\nreplay both\n")
    result = run(sys.executable, GENERATE, "--root", tmp_path, "--check")
    assert result.returncode == 1 and "contract/traces/forgotten.trace" in result.stderr
    passes(sys.executable, GENERATE, "--root", tmp_path)
    assert not (tmp_path / "contract/traces/forgotten.trace").exists()


def test_c_agrees_with_the_map(c_numbers):
    assert {n: c_numbers[n] for n in AGREED} == AGREED


def test_cpp_takes_the_header(tmp_path):
    source = tmp_path / "use.cpp"
    source.write_text('#include "towpath.h"\nint main() { return static_cast<int>(sizeof(tp_completion) - TP_COMPLETION_BYTES); }\n')
    passes("g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{GENERATED}", source, "-o", tmp_path / "use")
    passes(tmp_path / "use")


def test_a_wrong_layout_does_not_compile(tmp_path):
    header = (GENERATED / "towpath.h").read_text()
    wrong = header.replace("    tp_u8 status;", "    tp_le16 status;")
    assert wrong != header
    (tmp_path / "wrong.h").write_text(wrong)
    result = run("gcc", "-std=c11", "-fsyntax-only", "-x", "c", tmp_path / "wrong.h")
    assert result.returncode != 0 and "size of struct tp_completion" in result.stderr


def test_rust_agrees_with_c(tmp_path, c_numbers):
    """Enumerations and constants; and the structures' images, byte for byte."""
    enums = ("DIRECTION", "CHANNEL_KIND", "KIND", "STATUS", "TLP_STREAM", "PARTIAL_OUTCOME")
    text = (GENERATED / "towpath.rs").read_text()
    names = re.findall(r"^pub const (\w+): u", text, re.M)
    checks = "".join(f'    assert_eq!({n} as u64, {c_numbers["TP_" + n]}, "{n}");\n' for n in names)
    in_enums = [n for n in c_numbers if any(n.startswith(f"TP_{e}_") for e in enums) and n.removeprefix("TP_") not in names]
    missing = set(c_numbers) - {"TP_" + n for n in names} - set(in_enums)
    assert not missing, f"in C alone: {missing}"
    source = tmp_path / "numbers.rs"
    source.write_text(
        f"""//! Test.
#![deny(missing_docs, warnings)]
include!("{GENERATED}/towpath.rs");
#[test]
fn numbers() {{
{checks}}}
#[test]
fn values() {{
    for status in Status::ALL {{
        assert_eq!(Status::try_from(status as u8), Ok(status));
    }}
    assert_eq!(Status::ALL.len(), {sum(n.startswith("TP_STATUS_") for n in c_numbers)});
    assert_eq!(Status::EndOfMessage as u8, {c_numbers["TP_STATUS_END_OF_MESSAGE"]});
    assert_eq!(Status::Torn.name(), "torn");
    assert_eq!(Kind::try_from(5), Err(5));
}}
#[test]
fn images() {{
    let image: [u8; 16] = core::array::from_fn(|i| i as u8);
    let d = Descriptor::from_le_bytes(image);
    assert_eq!((d.address, d.length, d.cookie, d.control), (0x0706050403020100, 0x0b0a0908, 0x0d0c, 0x0f0e));
    assert_eq!(d.to_le_bytes(), image);
    let c = Completion::from_le_bytes(image);
    assert_eq!((c.bytes, c.cookie, c.status, c.flags), (0x03020100, 0x0d0c, 0x0e, 0x0f));
    assert_eq!(c.to_le_bytes(), image);
    assert_eq!(ListEntry::from_le_bytes(image).to_le_bytes(), image);
}}
"""
    )
    passes("rustc", "--edition", "2021", "--test", source, "-o", tmp_path / "numbers")
    passes(tmp_path / "numbers")


def test_systemverilog_agrees_with_c(tmp_path, c_numbers):
    """By pyslang's evaluation: every constant and enumeration, and the packed structures' bit positions against the C offsets."""
    import pyslang

    trees = pyslang.syntax.SyntaxTree.fromFile(str(GENERATED / "towpath_pkg.sv"))
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(trees)
    assert not [str(d) for d in compilation.getAllDiagnostics()]
    package: Any = compilation.getPackage("towpath_pkg")
    for name, number in c_numbers.items():
        symbol = package.find(name)
        if name.startswith("TP_PCI_"):  # a hard block's affair
            assert symbol is None, name
            continue
        assert symbol is not None, name
        assert int(symbol.value.value) == number, name
    structs = {"descriptor": 16, "list_entry": 16, "completion": 16}
    for struct, size in structs.items():
        kind = package.find(f"tp_{struct}_t").targetType.type
        assert kind.bitWidth == 8 * size
        seen = 0
        for part in kind:
            assert part.bitOffset == 8 * c_numbers[f"TP_{struct.upper()}_{part.name.upper()}_OFFSET"], (struct, part.name)
            seen += part.type.bitWidth
        assert seen == 8 * size


def test_verilator_takes_the_package_without_a_warning(tmp_path):
    verilator = shutil.which("verilator") or CONTRACT.parent / "tools" / "bin" / "verilator"
    top = tmp_path / "top.sv"
    top.write_text(
        """module top
  import towpath_pkg::*;
(
    input  logic [ 11:0] offset,
    input  logic [127:0] image,
    output logic         arm,
    output logic         done,
    output logic         end_of_message
);
  tp_completion_t completion;
  tp_descriptor_control_t control;
  assign completion = image;
  assign control = image[127:112];
  assign arm = offset == TP_DOORBELL_ARM_OFFSET;
  assign done = completion.status == TP_STATUS_DONE && completion.bytes[0];
  assign end_of_message = control.end_;
  logic unused;
  assign unused = &{completion, control};
endmodule
"""
    )
    result = run(verilator, "--lint-only", "-Wall", GENERATED / "towpath_pkg.sv", top)
    text = result.stdout + result.stderr
    assert result.returncode == 0 and "%Warning" not in text, text


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("rw16 cookie @ 0xC;   cookie->desc", "rw8 cookie @ 0xC;   cookie->desc", "hole before, or repetition of, `control`"),
        ("ro64 serial @ 0x20;", "ro64 serial @ 0x24;", "overlaps"),
        ("ro32 core_version @ 0x30;", "ro32 core_version @ 0x32;", "offset 0x32 is not a multiple of its 4 bytes"),
        ("tags->desc =", "// tags->desc =", "tags: no desc"),
        ("    version_major.value->reset = 2;\n", "", "no reset value"),
        ("wo32 arm @ 0x10;", "wo32 arm @ 0x10", "towpath.rdl"),
        ("header_bytes->least = 0x74;", "header_bytes->least = 0x60;", "header_bytes is at least 0x74, where its registers end"),
        ("page_shift->least = 12;", "page_shift->least = 13;", "page_shift is at least that of 4096 bytes"),
        ("page_shift->most = 16;", "page_shift->most = 64;", "shifts by more than 63"),
        ("page_shift->most = 16;", "page_shift->most = 48;", "overflows 64 bits"),
        ("entry_bytes->multiple_of = 8;", "entry_bytes->multiple_of = 6;", "multiple_of 6 is not a power of two"),
        ("queue_depth->least = 1;", "queue_depth->least = 32768;", "least 32768 is above most 32767"),
        ("queue_depth->most = 32767;", "queue_depth->most = 65536;", "most 65536 does not fit into 16 bits"),
        ("entry_bytes <= 1 <<", "entry_byte <= 1 <<", "has an unknown name: entry_byte"),
        ("entry_bytes <= 1 <<", "entry_bytes < 1 <<", "is not `LEFT <= RIGHT`"),
        ("entry_bytes <= 1 <<", "entry_bytes <= 1 - ", "has other arithmetic than +, * and <<"),
        ("direction == h2c or", "direction == in or", "rule `direction == in or"),
        ("direction == h2c or", "kind == h2c or", "has another condition than `REGISTER == VALUE`"),
        ("c2h = 1 {", "c2h = 2 {", "the enumeration's values have holes between them"),
        ('name->desc = "UTF-8', 'name->least = 1; name->desc = "UTF-8', "limits are for registers that are one number"),
        ("    window_timeout.value->reset", "    window_timeout->least = 1;\n    window_timeout.value->reset", "limits that nobody checks"),
        ('    block = "CARD";\n', '    block = "CARD";\n    rules = \'{"status <= control"};\n', "rules that nobody checks"),
    ],
)
def test_a_broken_map_is_refused(tmp_path, old, new, complaint):
    copy = tmp_path / "contract"
    shutil.copytree(CONTRACT, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    text = (copy / "towpath.rdl").read_text()
    assert old in text
    (copy / "towpath.rdl").write_text(text.replace(old, new))
    result = run(sys.executable, copy / "generate.py")
    assert result.returncode == 1
    assert complaint in result.stderr and "Traceback" not in result.stderr, result.stderr
