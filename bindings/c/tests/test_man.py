# SPDX-License-Identifier: Apache-2.0
"""Every exported function has a manual page, which groff takes without a warning, and which says what the header says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import clibrary
import manpages
import pytest

HEADER = manpages.HEADER.read_text()
PLAN = (manpages.SOURCES / "pages.toml").read_text()
PAGES = manpages.pages(HEADER, PLAN)


def rendered(folder: Path, name: str) -> str:
    """A page as plain text."""
    command = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=78n", "-ww", name]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def test_every_exported_function_has_a_page_and_nothing_else_has() -> None:
    assert sorted(name for name in PAGES if name.startswith("man3/")) == sorted(f"man3/{name}.3" for name in clibrary.exported())
    for text in PAGES.values():
        if link := re.fullmatch(r"\.so (.*)\n", text):
            assert not PAGES[link[1]].startswith(".so")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff renders manual pages, and is missing: install the package groff-base")
@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_rendered_without_a_warning(name: str, tmp_path: Path) -> None:
    manpages.write(tmp_path)
    text = re.sub(r"\s+", " ", rendered(tmp_path, name))
    if name == "man7/towpath.7":
        assert "TOWPATH_HOME" in text and "towpath_submit(3)" in text and "@" not in text
        return
    item = manpages.read(HEADER)[Path(name).stem]
    assert re.sub(r"\s+", " ", item.text) + ";" in text.replace("( ", "(")
    first = re.split(r"[.:,;(]", item.about.replace("`", ""))[0]
    assert re.sub(r"\s+", " ", first) in text


@pytest.mark.parametrize("name", ["towpath_now", "towpath_wire", "TOWPATH_MORE"])
def test_what_is_on_no_page_is_an_error(name: str) -> None:
    with pytest.raises(manpages.PageError, match=f"{name}: on 0 pages"):
        manpages.pages(HEADER, PLAN.replace(f'"{name}",', "").replace(f', "{name}"]', "]"))


def test_what_is_not_in_the_header_is_an_error() -> None:
    with pytest.raises(manpages.PageError, match=r"towpath_now: on 1 pages of pages\.toml, not in towpath\.h"):
        manpages.pages(HEADER.replace("towpath_now(", "towpath_then("), PLAN.replace('"towpath_now",', '"towpath_now", "towpath_then",'))
