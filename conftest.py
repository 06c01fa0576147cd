# SPDX-License-Identifier: Apache-2.0
"""For all tests: a test file's own folder leads sys.path while it is imported and run.

Test files may bear the same name in different folders (importmode importlib), yet each finds its neighbours; and cocotb's runner, which
hands sys.path to the simulator, finds the bench beside the test that starts it.
"""

import sys
from pathlib import Path

import pytest


def lead(folder: Path) -> None:
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    sys.path.insert(0, str(folder))


def pytest_pycollect_makemodule(module_path: Path) -> None:
    lead(module_path.parent)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    lead(item.path.parent)
