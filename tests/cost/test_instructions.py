# SPDX-License-Identifier: Apache-2.0
"""What the library itself costs: instructions for a submit and its completion, counted by callgrind, which is no matter of time or load."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ["cargo", "bench", "--locked", "--manifest-path=host/Cargo.toml", "--package=towpath", "--bench=instructions"]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="callgrind counts, and valgrind is missing: install the package valgrind")
def test_a_submit_and_its_completion_keep_to_their_limit() -> None:
    done = subprocess.run(BENCH, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    figures = {
        name: (int(count), int(limit))
        for count, name, limit in re.findall(r"^ *(\d+) instructions: (.*) \(limit (\d+)\)$", done.stdout, re.M)
    }
    assert len(figures) >= 4, done.stderr
    most = {name: 700 if "submit_many" in name else 500 for name in figures}  # which saves stores, not instructions
    assert all(0 < count <= limit <= most[name] for name, (count, limit) in figures.items()), figures
    assert done.returncode == 0, done.stderr
