#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write everything that follows from towpath.rdl: constants and packed structs in SystemVerilog, C and Rust, in C and Rust the check of
what a card says of itself (limits.py), the reference page, and the golden traces (whose cases stand in traces/cases.py).

    python3 contract/generate.py            write the files
    python3 contract/generate.py --check    write nothing; fail if one of them is stale

Promises the same bytes for the same RDL and templates, whatever the machine. Does not generate other logic: what happens at a doorbell is
written by hand, after protocol.md.

The names are made here, once, for all languages; a template only gives them the language's clothes:

    TP_<BLOCK>_<REGISTER>_OFFSET            byte offset in the page or structure
    TP_<BLOCK>_<REGISTER>_COUNT, _STRIDE    of a register (or group of registers) that repeats
    TP_<BLOCK>_<REGISTER>_<FIELD>_LSB       lowest bit of a field
    TP_<BLOCK>_<REGISTER>_<FIELD>_MASK      its bits, in place
    TP_<BLOCK>_<REGISTER>_RESET             what a writable register holds after a reset, unless 0
    TP_<BLOCK>_<REGISTER>_VALUE             what a read-only register holds in this version of the contract
    TP_<BLOCK>_BYTES                        size of a structure or of a repeating group of registers
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, MemNode, RegfileNode, RegNode
from systemrdl.rdltypes import OnWriteType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "traces")]
import cases  # noqa: E402 found only now
import golden  # noqa: E402
from limits import INPUTS, Limit, LimitError, Name, Rule  # noqa: E402

COMMAND = "python3 contract/generate.py"
RDL_PAGE_BYTES = 0x1000  # the stride at which the RDL shows pages

# template: file it becomes, from the repository's root
OUTPUTS = {
    "towpath_pkg.sv.j2": "contract/generated/towpath_pkg.sv",
    "towpath.h.j2": "contract/generated/towpath.h",
    "towpath.rs.j2": "contract/generated/towpath.rs",
    "contract.md.j2": "docs/reference/contract.md",
}

# Words that the RDL uses as names and a language keeps for itself.
SV_KEYWORDS = {"end", "begin", "table", "wait", "type", "ref", "bit", "byte", "string", "reg", "logic", "enum", "struct", "union"}


class ContractError(Exception):
    """The RDL says something that cannot be a contract, or that this program does not know how to write."""


@dataclass
class Value:
    name: str
    number: int
    desc: str


@dataclass
class Enum:
    name: str
    width: int
    values: list[Value]


@dataclass
class Field:
    name: str
    lsb: int
    width: int
    access: str
    desc: str
    enum: str | None

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.lsb


@dataclass
class Entry:
    """A register, or a group of registers standing in a block."""

    name: str
    offset: int
    bits: int
    count: int  # 0: does not repeat
    stride: int
    access: str
    desc: str
    reset: int | None = None
    fields: list[Field] = field(default_factory=list)
    enum: str | None = None
    group: str | None = None  # the block that stands here
    limit: Limit | None = None

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def end(self) -> int:
        return self.offset + (self.count - 1) * self.stride + self.bytes if self.count else self.offset + self.bytes


@dataclass
class Block:
    name: str
    desc: str
    bytes: int
    packed: bool
    sized: bool  # TP_<BLOCK>_BYTES means something
    entries: list[Entry] = field(default_factory=list)
    is_table: bool = False
    rule_texts: list[str] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    outer: str | None = None  # of an entry of a table: the table

    @property
    def registers(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.group]

    @property
    def limited(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.limit]

    @property
    def image_bytes(self) -> int:
        """Up to the end of its last register, the groups behind them apart."""
        return max(entry.end for entry in self.registers)

    @property
    def inputs(self) -> list[str]:
        """What its check wants to know of the BARs."""
        return [name for name in INPUTS if any(rule.uses(name) for rule in self.rules)]


@dataclass
class Constant:
    """A number of the layout. `kind` is what a typed language makes of it: page, bar, count, bytes, version, id or class; the last two
    are of PCI, written in hexadecimal, and no concern of the gateware's."""

    name: str
    kind: str
    number: int
    desc: str

    @property
    def text(self) -> str:
        return {"id": f"0x{self.number:04x}", "class": f"0x{self.number:06x}"}.get(self.kind, str(self.number))


@dataclass
class Contract:
    constants: list[Constant]
    enums: list[Enum]
    blocks: list[Block]

    @property
    def structs(self) -> list[Block]:
        return [block for block in self.blocks if block.packed]

    @property
    def pages(self) -> list[Block]:
        return [block for block in self.blocks if not block.packed]

    @property
    def tables(self) -> list[Block]:
        return [block for block in self.blocks if block.is_table]


def one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def access_of(node: RegNode) -> str:
    readable = any(f.is_sw_readable for f in node.fields())
    writable = any(f.is_sw_writable for f in node.fields())
    return {(True, True): "rw", (True, False): "r", (False, True): "w"}[(readable, writable)]


class Reader:
    """Turns the elaborated RDL into a Contract and refuses what would break its promises (alignment, holes, order)."""

    def __init__(self) -> None:
        self.blocks: dict[str, Block] = {}
        self.enums: dict[str, Enum] = {}

    def enum_of(self, node: FieldNode) -> str | None:
        encode = node.get_property("encode")
        if encode is None:
            return None
        name = encode.type_name
        if name not in self.enums:
            values = [Value(m.name, m.value, one_line(m.rdl_desc)) for m in encode]
            self.enums[name] = Enum(name, node.width, sorted(values, key=lambda v: v.number))
        if self.enums[name].width != node.width:
            raise ContractError(f"{node.get_path()}: `{name}` is {self.enums[name].width} bits wide elsewhere")
        return name

    def register(self, node: RegNode) -> Entry:
        bits = node.get_property("regwidth")
        where = node.get_path()
        if node.raw_address_offset % (bits // 8):
            raise ContractError(f"{where}: offset {node.raw_address_offset:#x} is not a multiple of its {bits // 8} bytes")
        entry = Entry(
            name=node.inst_name,
            offset=node.raw_address_offset,
            bits=bits,
            count=node.array_dimensions[0] if node.array_dimensions else 0,
            stride=node.array_stride or 0,
            access=access_of(node),
            desc=one_line(node.get_property("desc")),
        )
        if not entry.desc:
            raise ContractError(f"{where}: no desc; the reference page needs one")
        resets = [(value, f.lsb) for f in node.fields() if isinstance(value := f.get_property("reset"), int)]
        if resets:
            entry.reset = sum(value << lsb for value, lsb in resets)
        for part in node.fields():
            if part.inst_name == "value":
                entry.enum = self.enum_of(part)
                continue
            access = "w1c" if part.get_property("onwrite") is OnWriteType.woclr else entry.access
            desc = one_line(part.get_property("desc"))
            entry.fields.append(Field(part.inst_name, part.lsb, part.width, access, desc, self.enum_of(part)))
        try:
            entry.limit = self.limit(node, entry)
        except LimitError as error:
            raise ContractError(f"{where}: {error}") from error
        return entry

    def limit(self, node: RegNode, entry: Entry) -> Limit | None:
        names = ("least", "most", "multiple_of", "power_of_two", "apart")
        given = {name: value for name in names if (value := node.get_property(name, default=None)) is not None}
        if given and (entry.enum or entry.fields or entry.count):
            raise LimitError("limits are for registers that are one number")
        if node.get_property("open", default=False):
            if not entry.enum:
                raise LimitError("open is for a register with an enumeration")
            return None
        if entry.enum:
            values = {value.name: value.number for value in self.enums[entry.enum].values}
            return Limit(min(values.values()), max(values.values()), values=values)
        top = (1 << entry.bits) - 1
        if given.get("most", 0) > top:
            raise LimitError(f"most {given['most']} does not fit into {entry.bits} bits")
        return Limit(given.pop("least", 0), given.pop("most", top), **given) if given else None

    def block(self, node: AddrmapNode | RegfileNode) -> Block:
        name = node.get_property("block")
        if name is None:
            raise ContractError(f"{node.get_path()}: holds registers but has no property `block`")
        if name in self.blocks:
            return self.blocks[name]
        packed = bool(node.get_property("packed_struct", default=False))
        size = node.array_stride or node.size
        block = Block(name, one_line(node.get_property("desc")), size, packed, packed or node.is_array)
        block.is_table = bool(node.get_property("table", default=False))
        block.rule_texts = node.get_property("rules", default=[])
        self.blocks[name] = block
        for part in node.children(unroll=False):
            if isinstance(part, RegNode):
                block.entries.append(self.register(part))
            elif isinstance(part, AddrmapNode | RegfileNode):
                block.entries.append(self.group(part))
            else:
                raise ContractError(f"{part.get_path()}: neither a register nor a group of them")
        block.entries.sort(key=lambda e: e.offset)
        if packed:
            self.assert_packed(node, block)
        self.assert_checked(node, block)
        return block

    def group(self, node: AddrmapNode | RegfileNode) -> Entry:
        inner = self.block(node)
        count = node.array_dimensions[0] if node.array_dimensions else 0
        at, stride = node.raw_address_offset, node.array_stride or 0
        return Entry(node.inst_name, at, inner.bytes * 8, count, stride, "", inner.desc, group=inner.name)

    @staticmethod
    def assert_packed(node: AddrmapNode | RegfileNode, block: Block) -> None:
        at = 0
        for entry in block.entries:
            if entry.offset != at or entry.count or entry.group:
                raise ContractError(f"{node.get_path()}: hole before, or repetition of, `{entry.name}` in a packed structure")
            at += entry.bytes
        if at % 8:
            raise ContractError(f"{node.get_path()}: {at} bytes are not a multiple of 8")

    @staticmethod
    def assert_checked(node: AddrmapNode | RegfileNode, block: Block) -> None:
        if block.is_table:
            for entry in block.registers:
                if entry.count and (entry.bits, entry.stride) != (8, 1):
                    raise ContractError(f"{node.get_path()}: `{entry.name}` repeats, but is not bytes")
            return
        for entry in block.limited:
            if not entry.enum:
                raise ContractError(f"{node.get_path()}: `{entry.name}` has limits that nobody checks: this is no table")
            entry.limit = None
        if block.rule_texts:
            raise ContractError(f"{node.get_path()}: rules that nobody checks: this is no table")


def add_rules(blocks: dict[str, Block], enums: dict[str, Enum], constants: list[Constant]) -> None:
    """Give each table its rules, now that all names are known."""

    def of(entry: Entry, place_c: str, place_rust: str) -> Name:
        c, rust = f"{place_c}->{entry.name}", f"{place_rust}.{entry.name}"
        most = entry.limit.most if entry.limit else (1 << entry.bits) - 1
        return Name(most, *((c, rust) if entry.bits == 64 else (f"(tp_u64){c}", f"u64::from({rust})")))

    for block in blocks.values():
        for entry in block.entries:
            if block.is_table and entry.group and blocks[entry.group].is_table:
                blocks[entry.group].outer = block.name
    for block in blocks.values():
        names = {name: Name((1 << 64) - 1, name, name) for name in INPUTS}
        if block.outer:
            around = block.outer.lower()
            names |= {e.name: of(e, around, around) for e in blocks[block.outer].registers if not e.count}
        own = [e for e in block.registers if not e.count]
        names |= {e.name: of(e, "table", "self") for e in own}
        values = {e.name: {v.name: v.number for v in enums[e.enum].values} for e in own if e.enum}
        try:
            block.rules = [Rule(text, names, {c.name: c.number for c in constants}, values) for text in block.rule_texts]
        except LimitError as error:
            raise ContractError(f"{block.name}: {error}") from error


def page_number(node: AddrmapNode | MemNode) -> int:
    number, rest = divmod(node.raw_address_offset, RDL_PAGE_BYTES)
    if rest:
        raise ContractError(f"{node.get_path()}: does not start at a page")
    return number


def child(node: Any, name: str) -> Any:
    """A part of the RDL by name; the compiler's own types say only Node."""
    found = node.get_child_by_name(name)
    if found is None:
        raise ContractError(f"{node.get_path()}: has no `{name}`")
    return found


def read_contract(path: Path) -> Contract:
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    device, window, memory, host = (child(top, n) for n in ("device", "window", "memory", "host"))
    channels = child(device, "channels")
    inline = child(channels, "inline")
    batch = child(channels, "batch")

    reader = Reader()
    for node in device.children(unroll=False):
        if node is not channels and node.inst_name != "channels":
            reader.block(node)
    for node in channels.children(unroll=False):
        if isinstance(node, AddrmapNode):
            reader.block(node)
    for node in host.children(unroll=False):
        reader.block(node)

    discovery = {e.name: e for e in reader.blocks["DISCOVERY"].entries}
    card = {e.name: e for e in reader.blocks["CARD"].entries}
    vectors = {e.name: e for e in reader.blocks["MSIX"].entries}["vector"]
    version = [discovery[name].reset for name in ("version_major", "version_minor")]
    if version[0] is None or version[1] is None:
        raise ContractError("DISCOVERY: version_major and version_minor have no reset value; it is the contract's version")
    constants = [
        Constant("VERSION_MAJOR", "version", version[0], "version of this contract: another one is refused"),
        Constant("VERSION_MINOR", "version", version[1], "version of this contract: only adds"),
        Constant("BAR_DEVICE", "bar", device.get_property("bar"), "the BAR of pages"),
        Constant("BAR_WINDOW", "bar", window.get_property("bar"), "the BAR of the user core's registers"),
        Constant("BAR_MEMORY", "bar", memory.get_property("bar"), "the BAR of the windows onto the user core's memories"),
    ]
    identification = {
        "vendor": ("id", "vendor: 0x1234, which stands for none"),
        "device": ("id", "device"),
        "subsystem_vendor": ("id", "subsystem's vendor"),
        "subsystem": ("id", "subsystem"),
        "class": ("class", "class: a processing accelerator"),
    }
    for name, (kind, desc) in identification.items():
        constants.append(Constant(f"PCI_{name.upper()}", kind, top.get_property(f"pci_{name}"), f"PCI identification, {desc}"))
    for name in ("discovery", "card", "msix"):
        node = child(device, name)
        constants.append(Constant(f"PAGE_{name.upper()}", "page", page_number(node), f"page of block {node.get_property('block')}"))
    constants += [
        Constant("PAGE_CHANNELS", "page", page_number(channels), "first page of channel 0"),
        Constant("PAGES_PER_CHANNEL", "page", channels.array_stride // RDL_PAGE_BYTES, "from one channel's pages to the next's"),
    ]
    for node in channels.children(unroll=False):
        name = f"PAGE_CHANNEL_{node.inst_name.upper()}"
        constants.append(Constant(name, "page", page_number(node), "page among a channel's pages"))
    constants += [
        Constant("PAGE_BYTES_MIN", "bytes", RDL_PAGE_BYTES, "smallest page"),
        Constant("CHANNELS_MAX", "count", channels.array_dimensions[0], "channels, both directions together"),
        Constant("NAME_BYTES", "bytes", discovery["core_name"].count, "of a name, zeroes included"),
        Constant("USER_INTERRUPTS", "count", card["user_irq_vector"].count, "user interrupts that have registers"),
        Constant("MSIX_VECTORS_MAX", "count", vectors.count, "vectors for which the table has room"),
        Constant("INLINE_SLOT_BYTES", "bytes", inline.get_property("memwidth") // 8, "of an inline slot, the longest inline message"),
        Constant("INLINE_SLOTS_MAX", "count", inline.get_property("mementries"), "inline slots in the smallest page"),
        Constant("BATCH_SLOTS_MAX", "count", batch.get_property("mementries"), "slots for descriptors in the smallest batch page"),
    ]
    limits = {name: entry.limit or Limit(0, 0) for name, entry in discovery.items()}
    if limits["header_bytes"].least != reader.blocks["DISCOVERY"].image_bytes:
        raise ContractError(f"DISCOVERY: header_bytes is at least {reader.blocks['DISCOVERY'].image_bytes:#x}, where its registers end")
    if 1 << limits["page_shift"].least != RDL_PAGE_BYTES:
        raise ContractError(f"DISCOVERY: page_shift is at least that of {RDL_PAGE_BYTES} bytes, for which this map is written")
    add_rules(reader.blocks, reader.enums, constants)
    return Contract(constants, list(reader.enums.values()), list(reader.blocks.values()))


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.lower().split("_"))


def sv_name(name: str) -> str:
    return name + "_" if name in SV_KEYWORDS else name


def holes(fields: list[Field], bits: int) -> list[tuple[str, int, int]]:
    """Fields and the reserved bits between them, from bit 0 up: (name, lsb, width)."""
    parts, at, reserved = [], 0, 0
    for part in sorted(fields, key=lambda f: f.lsb):
        if part.lsb > at:
            parts.append((f"reserved{reserved or ''}", at, part.lsb - at))
            reserved += 1
        parts.append((part.name, part.lsb, part.width))
        at = part.lsb + part.width
    if at < bits:
        parts.append((f"reserved{reserved or ''}", at, bits - at))
    return parts


def render(contract: Contract) -> dict[str, str]:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(camel=camel, sv=sv_name, holes=holes)
    note = f"Generated from contract/towpath.rdl by `{COMMAND}`: do not edit."
    files = {path: environment.get_template(name).render(contract=contract, note=note) for name, path in OUTPUTS.items()}
    layout = cases.layout(contract)
    for name, text in cases.all_traces(contract, f"Written by `{COMMAND}` from contract/traces/cases.py: change that.").items():
        golden.check(golden.parse(text, name), layout)
        files[f"contract/traces/{name}"] = text
    return files


def stale(files: dict[str, str], root: Path) -> list[str]:
    """What is wrong with the files on disk, one line each."""
    problems = []
    for name, text in files.items():
        path = root / name
        if not path.exists():
            problems.append(f"{name}: missing")
        elif path.read_text(encoding="utf-8") != text:
            problems.append(f"{name}: stale, differs from what contract/towpath.rdl says")
    return problems + [f"{name}: stale, its case is gone" for name in leftovers(files, root)]


def leftovers(files: dict[str, str], root: Path) -> list[str]:
    """Traces on disk that no case writes any more."""
    found = (f"contract/traces/{path.name}" for path in sorted((root / "contract/traces").glob("*.trace")))
    return [name for name in found if name not in files]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the files that follow from contract/towpath.rdl.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="where the files go (default: this repository)")
    options = parser.parse_args(arguments)
    try:
        files = render(read_contract(HERE / "towpath.rdl"))
    except RDLCompileError as error:
        print(f"contract/towpath.rdl: {error}", file=sys.stderr)
        return 1
    except ContractError as error:
        print(f"contract/towpath.rdl: {error}", file=sys.stderr)
        return 1
    except golden.TraceError as error:
        print(f"contract/traces/cases.py contradicts contract/protocol.md: {error}", file=sys.stderr)
        return 1
    if options.check:
        problems = stale(files, options.root)
        for problem in problems:
            print(problem, file=sys.stderr)
        if problems:
            print(f"mend with: {COMMAND}", file=sys.stderr)
        return 1 if problems else 0
    for name, text in files.items():
        path = options.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in leftovers(files, options.root):
        (options.root / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
