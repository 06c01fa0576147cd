# SPDX-License-Identifier: Apache-2.0
"""Who may use a card: udev itself carries out our rule."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from inside import LIBC, ROOT, Card, Module, until, utility

RULE = ROOT / "driver/linux/packaging/60-towpath.rules"
RULES = Path("/run/udev/rules.d")
# Nobody's, and the group's that the package makes.
GROUP, NOBODY = 4321, 65534
BIND, DETACH = 4096, 2


@contextlib.contextmanager
def group() -> Iterator[None]:
    """A group towpath, in a guest whose /etc is the machine's and read-only."""
    groups = Path("/run/group")
    others = [line for line in Path("/etc/group").read_text().splitlines() if not line.startswith("towpath:")]
    groups.write_text("\n".join([*others, f"towpath:x:{GROUP}:", ""]))
    assert LIBC.mount(str(groups).encode(), b"/etc/group", b"", BIND, b"") == 0
    try:
        yield
    finally:
        LIBC.umount2(b"/etc/group", DETACH)


@pytest.fixture
def udev(driver: Module, cards: list[Card]) -> Iterator[None]:
    """udev with our rule and no other, when the driver finds its cards."""
    program = utility("bin/udevadm")
    libraries = [str(path) for path in program.parents[1].glob("**/x86_64-linux-gnu")]
    own = os.environ | {"LD_LIBRARY_PATH": ":".join(libraries)}
    RULES.mkdir(parents=True)
    shutil.copy(RULE, RULES)
    with group(), subprocess.Popen(["systemd-udevd"], executable=program, env=own) as daemon:
        try:
            until(Path("/run/udev/control").exists, "udev is there")
            driver.unload()
            driver.load()
            until(lambda: all("control" in card.files for card in cards), "the cards' files are there")
            subprocess.run([program, "settle", "--timeout=20"], env=own, check=True)
            yield
        finally:
            daemon.terminate()
            daemon.wait(20)
            shutil.rmtree("/run/udev")
            # Without udev the files are root's again.
            driver.unload()
            driver.load()


def opens(path: Path, user: int, group: int) -> bool:
    command = ["sh", "-c", 'exec 3<>"$0"', path] if path.name == "control" else ["sh", "-c", 'exec 3>"$0"', path]
    return subprocess.run(command, user=user, group=group, extra_groups=[], stderr=subprocess.DEVNULL).returncode == 0


def test_the_group_and_nobody_else_may_use_the_cards(udev: None, cards: list[Card]) -> None:
    for card, count in zip(cards, (5, 11, 4), strict=True):
        files = card.files
        assert len(files) == count
        for path in files.values():
            found = path.stat()
            assert (found.st_uid, found.st_gid, oct(stat.S_IMODE(found.st_mode))) == (0, GROUP, "0o660"), path
    for name in ("control", "in"):
        path = cards[0].files[name]
        assert opens(path, NOBODY, GROUP) and not opens(path, NOBODY, NOBODY)
