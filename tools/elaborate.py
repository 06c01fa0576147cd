#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elaborates SystemVerilog files with slang and prints the names of the modules that nothing instantiates, one a line.

Diagnostics go to standard error; exit code 1 if there is any. A process of its own because slang prints past Python's streams.
"""

import sys

from pyslang.driver import Driver

# A register may have an `initial` value beside its process (docs/guide/hdl-tools.md); slang is strict about it.
DUPLICATE_INITIAL = "--allow-dup-initial-drivers"


def main(files: list[str]) -> int:
    driver = Driver()
    driver.addStandardArgs()
    if not driver.parseCommandLine(" ".join(["elaborate", "-Werror", DUPLICATE_INITIAL, *files])) or not driver.processOptions():
        return 2
    if not driver.parseAllSources():
        return 1
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    driver.runAnalysis(compilation)  # who drives what
    clean = driver.reportDiagnostics(True)
    print("\n".join(top.name for top in compilation.getRoot().topInstances))
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
