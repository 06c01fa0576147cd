# SPDX-License-Identifier: Apache-2.0
"""Takes the user core out of a design: its ports become ports of the top, `core_` before their names, for a core that stands elsewhere.

slang has elaborated the design with the core in it, and so tells the widths of its ports and where it stands. In copies of the sources,
each module between top and core gets the ports in its header and in its instance, and the core's module becomes one that joins both sides.
Below the top the ports have names that nothing else has there: modules between may have signals that begin with `core_`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyslang import ast
from pyslang.syntax import SyntaxKind
from verilogexpr import Kind, Unsupported, members

OUTSIDE = "core_"  # before the name of a port of the top
BELOW = "tp_outside_"  # before the name of a port of the modules below, unless it stands somewhere in their files
JOINT = "tp_core_outside"  # the module in the core's place: one of the core's name stands elsewhere
TURNED = {ast.ArgumentDirection.In: "output", ast.ArgumentDirection.Out: "input"}


@dataclass
class Source:
    """A file with what is to be changed in it: the place, how much goes, and what comes."""

    text: bytes
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def edited(self) -> bytes:
        text = self.text
        for at, length, new in sorted(self.edits, reverse=True):
            text = text[:at] + new.encode() + text[at + length :]
        return text


def way(instance: Any, core: str) -> list[Any]:
    """The instances from this one down to the core's; none if it is not there."""
    if instance.definition.name == core:
        return [instance]
    for member in members(instance.body):
        if member.kind == Kind.Instance and (rest := way(member, core)):
            return [instance, *rest]
    return []


def vector(width: int) -> str:
    return "logic" if width == 1 else f"logic [{width - 1}:0]"


def below(files: list[bytes]) -> str:
    """What no name in these files begins with."""
    number, prefix = 0, BELOW
    while any(prefix.encode() in file for file in files):
        number += 1
        prefix = f"{BELOW}{number}_"
    return prefix


def joint(ports: list[Any], prefix: str) -> str:
    """The module in the core's place."""
    inside = [f"    {'input' if p.direction == ast.ArgumentDirection.In else 'output'} {vector(p.type.bitWidth)} {p.name}" for p in ports]
    outside = [f"    {TURNED[p.direction]} {vector(p.type.bitWidth)} {prefix}{p.name}" for p in ports]
    joined = [
        f"  assign {prefix}{p.name} = {p.name};" if p.direction == ast.ArgumentDirection.In else f"  assign {p.name} = {prefix}{p.name};"
        for p in ports
    ]
    head = f"// In the place of the user core: the ports that begin with {prefix} are its own, turned round, and lead out of the top."
    return "\n".join([head, f"module {JOINT} (", ",\n".join([*inside, *outside]), ");", *joined, "endmodule"])


def without_core(compilation: Any, core: str, scratch: Path) -> dict[Path, Path]:
    """The copies of sources that replace theirs."""
    path = way(compilation.getRoot().topInstances[0], core)
    if len(path) < 2:
        raise Unsupported(f"no instance of {core} was found in the design")
    ports = list(path[-1].body.portList)
    for port in ports:
        if port.kind != Kind.Port or port.direction not in TURNED or not port.type.isIntegral:
            raise Unsupported(f"{core}: port {port.name} is neither an input nor an output that is a vector, and cannot be led out")
        if path[0].body.find(OUTSIDE + port.name) is not None:
            raise Unsupported(
                f"{core}: port {port.name} cannot be led out, for {path[0].definition.name} has a {OUTSIDE}{port.name} already"
            )
    manager, sources = compilation.sourceManager, dict[Path, Source]()

    def place(location: Any) -> Path:
        return Path(manager.getFullPath(location.buffer))

    prefix = below([place(instance.definition.location).read_bytes() for instance in path])

    def change(location: Any, length: int, new: str) -> None:
        file = place(location)
        sources.setdefault(file, Source(file.read_bytes())).edits.append((location.offset, length, new))

    for parent, child in zip(path, path[1:], strict=False):
        header, instance = parent.definition.syntax.header, child.syntax
        here = OUTSIDE if parent is path[0] else prefix
        if header.ports is None or header.ports.kind != SyntaxKind.AnsiPortList:
            raise Unsupported(f"{parent.definition.name}: its ports are not declared in its header")
        declared = "".join(f"\n    {TURNED[p.direction]} {vector(p.type.bitWidth)} {here}{p.name}," for p in ports)
        change(header.ports.openParen.location, 1, "(" + declared)
        connected = ", ".join(f".{prefix}{p.name}({here}{p.name})" for p in ports)
        change(instance.openParen.location, 1, f"({connected}, ")
        if child is path[-1]:  # what stands before the instance's name: the module's name, and parameters
            kind, parameters = instance.parent.type, instance.parent.parameters
            length = parameters.sourceRange.end.offset - kind.location.offset if parameters is not None else len(core)
            change(kind.location, length, JOINT)
    module = path[-1].definition.syntax.sourceRange
    change(module.start, module.end.offset - module.start.offset, joint(ports, prefix))
    scratch.mkdir(parents=True, exist_ok=True)
    copies = {}
    for number, (file, source) in enumerate(sources.items()):
        copies[file] = scratch / f"{number}-{file.name}"
        copies[file].write_bytes(source.edited())
    return copies
