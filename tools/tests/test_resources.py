# SPDX-License-Identifier: Apache-2.0
"""`./run resources`: what counts as a LUT, and how levels of logic are counted. The synthesis itself is not run here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import resources


def cell(kind: str, **pins: list) -> dict:
    return {"type": kind, "connections": pins}


def test_memories_and_shift_registers_are_luts() -> None:
    kinds = ["LUT1", "LUT6", "RAM32M", "RAM32X1D", "SRL16E", "INV", "FDRE", "FDSE", "RAMB18E1", "RAMB36E1", "CARRY4"]
    cells = {str(i): cell(kind) for i, kind in enumerate(kinds)}
    assert resources.count(cells) == {"lut": 1 + 1 + 4 + 2 + 1, "ff": 2, "ramb36_equivalent": 1.5}


def test_a_path_runs_from_register_to_register() -> None:
    cells = {
        "a": cell("FDRE", Q=[1], D=[9]),
        "b": cell("LUT2", I0=[1], I1=[2], O=[3]),
        "c": cell("INV", I=[3], O=[4]),
        "d": cell("LUT3", I0=[4], I1=[1], I2=["0"], O=[5]),
        "e": cell("MUXF7", I0=[5], I1=[3], S=[1], O=[6]),
        "f": cell("RAM32M", ADDRA=[6, "0"], DOA=[7, 8], ADDRB=[1], DOB=[10, 11]),
        "g": cell("FDRE", Q=[12], D=[7]),
    }
    assert resources.levels(cells) == 3


def test_a_carry_chain_is_no_level_and_runs_upwards_only() -> None:
    carry = cell("CARRY4", CI=["0"], CYINIT=["0"], DI=[20, 21, 22, 23], S=[30, 31, 32, 33], CO=[40, 41, 42, 43], O=[50, 51, 52, 53])
    # Bit 3's input comes from bit 0's output: no loop, though both are in one cell.
    cells = {"s": cell("LUT1", I0=[1], O=[30]), "c": carry, "l": cell("LUT1", I0=[50], O=[33]), "o": cell("LUT1", I0=[53], O=[60])}
    assert resources.levels(cells) == 3


def test_a_loop_is_told_of() -> None:
    cells = {"a": cell("LUT1", I0=[2], O=[1]), "b": cell("LUT1", I0=[1], O=[2])}
    with pytest.raises(SystemExit, match="loop"):
        resources.levels(cells)


def test_the_table_tells_what_a_pair_costs() -> None:
    row = {"width": 128, "ramb36_equivalent": 8.0, "lut_levels": 9}
    rows = [row | {"configuration": f"128 bit, {n}+{n}", "h2c": n, "c2h": n, "lut": 1000 + 100 * n * n, "ff": 100 * n} for n in (1, 2, 4)]
    table = resources.table(rows)
    assert "| the second pair at 128 bit | 300 | 100 | 0 | |" in table
    assert "| the third and fourth, each | 600 | 100 | 0 | |" in table


def test_of_three_seeds_the_median_counts() -> None:
    table = resources.placed_table([{"configuration": "128 bit, 1+1", "mhz": [120.0, 90.0, 110.0]}])
    assert "| 128 bit, 1+1 | 110.0 | 120.0, 90.0, 110.0 |" in table


def test_what_costs_too_much_is_told() -> None:
    design = resources.Design("a card", "top", [], {}, most={"lut": 100, "ff": 50})
    assert resources.beyond(design, {"lut": 100, "ff": 50}) == []
    assert resources.beyond(design, {"lut": 101, "ff": 50}) == ["a card: lut is 101, the most is 100"]


def test_every_endpoint_is_listed() -> None:
    designs = resources.parts("gateware/endpoint")
    alone = {d.top for d in designs if not d.options} - {"tp_xilinx_icap"}  # the configuration port is no endpoint
    assert {d.top for d in designs if d.options} == {f"{top}_card" for top in alone}
    for design in designs:
        assert all((resources.ROOT / file).is_file() for file in design.files)
