# SPDX-License-Identifier: Apache-2.0
"""The site of the pages: links that `./run docs` changes for it, and links of the result that it must refuse."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import sitelinks
import sitepages


def site(folder: Path, **pages: str) -> Path:
    for name, text in {"a": "", "b": "", **pages}.items():
        (folder / f"{name}.html").write_text(f"<html><head>{text}</head></html>")
    (folder / "style.css").touch()
    return folder


@pytest.mark.parametrize(
    ("link", "finding"),
    [
        ('<a href="b.html#there">', None),
        ('<a href="#here" id="here">', None),
        ('<link href="style.css?v=1">', None),
        ('<a href="https://towpath.example/gone">', None),  # followed by a click, and not fetched
        ('<a href="gone.html">', "a.html: gone.html: there is no such file"),
        ('<img src="gone.png">', "a.html: gone.png: there is no such file"),
        ('<a href="b.html#gone">', "a.html: b.html#gone: nothing of that name in it"),
        ('<a href="../gone.html">', "a.html: ../gone.html: it leads out of the site"),
        ('<a href="#gone">', "a.html: #gone: nothing of that name in it"),
        ('<a href="rust/towpath/index.html">', "a.html: rust/towpath/index.html: there is no such file"),
        ('<script src="https://towpath.example/x.js">', "a.html: fetches https://towpath.example/x.js"),
        ('<link href="//towpath.example/x.css">', "a.html: fetches //towpath.example/x.css"),
    ],
)
def test_links_of_the_result(tmp_path: Path, link: str, finding: str | None) -> None:
    assert sitelinks.broken(site(tmp_path, a=link, b='<p id="there">'), rust=True) == ([finding] if finding else [])


def test_without_the_rust_reference_its_links_are_let_be(tmp_path: Path) -> None:
    assert sitelinks.broken(site(tmp_path, a='<a href="rust/towpath/index.html">'), rust=False) == []


def test_code_keeps_its_brackets() -> None:
    page = "[a](b) `[c](d)` ![e](f#g)\n\n```\n[h](i)\n```\n`[j](k)\n\n[l](m)`\n"
    changed = page.replace("(b)", "(<b>)").replace("(f#g)", "(<f#g>)").replace("(k)", "(<k>)").replace("(m)", "(<m>)")
    assert sitepages.relinked(page, lambda target: f"<{target}>") == changed


def test_what_a_site_may_take_the_place_of(tmp_path: Path) -> None:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    for folder in (own, foreign):
        folder.mkdir()
        assert sitepages.may_replace(folder), "it is empty"
        (folder / "objects.inv").touch()
        assert not sitepages.may_replace(folder)
    assert sitepages.may_replace(tmp_path / "new") and not sitepages.may_replace(foreign / "objects.inv")
    (own / sitepages.MARK).touch()
    assert sitepages.may_replace(own)
    (own / ".git").mkdir()
    assert not sitepages.may_replace(own)
