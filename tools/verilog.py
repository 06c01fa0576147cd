#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run export-verilog`: the gateware as Verilog-2005, for tools that do not read SystemVerilog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyslang.driver import Driver
from verilogwriter import Design


def elaborate(files: list[Path], top: str, parameters: dict[str, object] | None = None) -> Any:
    """The compilation of these files, in which `top` is the only top module."""
    driver = Driver()
    driver.addStandardArgs()
    quote = "\\'"  # slang's driver takes a bare one for the start of a quoted argument
    given = [f"-G{name}={value}".replace("'", quote) for name, value in (parameters or {}).items()]
    command = " ".join(["export", "-DSYNTHESIS", "--top", top, *given, *(f'"{file}"' for file in files)])
    if not driver.parseCommandLine(command) or not driver.processOptions() or not driver.parseAllSources():
        raise SystemExit("the sources could not be read")
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    if not driver.reportDiagnostics(True):
        raise SystemExit("the sources could not be elaborated")
    return compilation


def export(files: list[Path], top: str, folder: Path, parameters: dict[str, object] | None = None) -> list[Path]:
    """Writes a file for each module, and returns their names; the top is the first."""
    compilation = elaborate(files, top, parameters)
    design = Design(compilation, compilation.getRoot().topInstances[0])
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for module in design.modules.values():
        path = folder / f"{module.name}.v"
        path.write_text(module.text)
        written.append(path)
    return written
