# SPDX-License-Identifier: Apache-2.0
"""Lets the cores' benches import `bench` from this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
