# SPDX-License-Identifier: Apache-2.0
"""Elaborates a board's sources with slang and prints, as JSON, what the checks ask about.

A process of its own: slang prints past Python's streams.

python hierarchy.py TOP FILE... -DNAME=VALUE...
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from pyslang import ast
from pyslang.driver import Driver


def number(value: Any) -> float | str:
    """A parameter's value: by its value, as the text of a vector is a literal with its width."""
    try:
        return float(value.value)
    except (TypeError, ValueError):
        return str(value)


def main(top: str, arguments: list[str]) -> int:
    driver = Driver()
    driver.addStandardArgs()
    # slang's driver splits a command line; blanks and quotes in a word must be escaped.
    words = ["hierarchy", "-Werror", "-Wno-unconnected-output-port", "--top", top, *arguments]
    if not driver.parseCommandLine(" ".join(re.sub(r"([\\'\" ])", r"\\\1", word) for word in words)) or not driver.processOptions():
        return 2
    if not driver.parseAllSources():
        return 1
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    if not driver.reportDiagnostics(True):
        return 1

    open_inputs, widths, registers, instances = [], [], [], {}

    def net(side: Any) -> str:
        """What a port is connected to: a name, or the text of an expression."""
        return side.symbol.hierarchicalPath if side.kind == ast.ExpressionKind.NamedValue else str(side.syntax).strip()

    def visit(symbol: Any) -> None:
        if symbol.kind == ast.SymbolKind.Variable:
            registers.append(symbol.name)
        if symbol.kind != ast.SymbolKind.Instance or symbol.isInterface:
            return
        parameters = {p.name: number(p.value) for p in symbol.body.parameters if hasattr(p, "value")}
        nets: dict[str, str] = {}
        instances[symbol.hierarchicalPath] = {"module": symbol.definition.name, "parameters": parameters, "nets": nets}
        if symbol.name == top:
            return
        for connection in symbol.portConnections:
            port, expression = connection.port, connection.expression
            place = f"{symbol.hierarchicalPath}: port {port.name} of {symbol.definition.name}"
            if port.direction == ast.ArgumentDirection.In and (expression is None or expression.kind == ast.ExpressionKind.Invalid):
                open_inputs.append(place)
            elif expression is not None:
                # Of an output, slang shows the assignment; what is connected is its left side.
                side = expression.left if expression.kind == ast.ExpressionKind.Assignment else expression
                while side.kind == ast.ExpressionKind.Conversion and side.isImplicit:
                    side = side.operand
                nets[port.name] = net(side)
                if side.type.bitWidth != port.type.bitWidth and side.kind != ast.ExpressionKind.UnbasedUnsizedIntegerLiteral:
                    widths.append(f"{place} has {port.type.bitWidth} bits, what is connected {side.type.bitWidth}")

    (instance,) = compilation.getRoot().topInstances  # beside it are modules that nothing uses
    instance.visit(visit)
    ports = {p.name: [p.type.bitWidth, p.type.isScalar, str(p.direction)] for p in instance.body.portList}
    report = {"open_inputs": open_inputs, "widths": widths, "registers": sorted(set(registers)), "instances": instances, "ports": ports}
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
