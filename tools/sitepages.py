# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation site: which there are, in which order, and where their links lead.

Reads the sources alone, so that `./run check site` finds in a moment what would break the site that `./run docs` builds.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAVIGATION = "docs/site.toml"
HOME = "README.md"
PAGES = ("*.md", "*.ipynb")
MARK = ".towpath-docs"  # a file in each site that `./run docs` has made
# Made by ./run docs, from what the sources declare.
MADE = ("reference/c.md", "reference/python.md", "reference/rust.md")
CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$|(?P<ticks>`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)(?P=ticks)(?!`)", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s]+)(?=[^)]*\))")


@dataclass(frozen=True)
class Section:
    title: str
    pages: tuple[str, ...]


def pages(root: Path) -> list[str]:
    """The Markdown pages and the notebooks that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", *PAGES], cwd=root, capture_output=True, text=True, check=True
    )
    return sorted(name for name in set(listed.stdout.split("\0")) if name and (root / name).is_file())


def sections(root: Path, pages: Iterable[str]) -> tuple[list[Section], list[str]]:
    """The navigation, and what is wrong with it: a page that stands nowhere or twice, an entry without a page."""
    known = [*pages, *MADE]
    found: list[str] = []
    result = []
    seen = {HOME}
    for section in tomllib.loads((root / NAVIGATION).read_text())["section"]:
        listed: list[str] = []
        for entry in section["pages"]:
            fits = sorted(page for page in known if page == entry or (fnmatch(page, entry) and page not in seen))
            found += [] if fits else [f"{NAVIGATION}: {entry}: there is no such page"]
            found += [f"{NAVIGATION}: {page} stands there twice" for page in fits if page in seen]
            listed += [page for page in fits if page not in seen]
            seen.update(fits)
        result.append(Section(section["title"], tuple(listed)))
    return result, found + [f"{page}: stands in no section of {NAVIGATION}" for page in known if page not in seen]


def prose(text: str) -> str:
    """The text with its code blanked out, each character at its place."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def anchors(text: str) -> set[str]:
    """The fragments that the headings of a page can be reached by."""
    found: dict[str, int] = {}
    names = set()
    bare = prose(text).splitlines()
    for number, line in enumerate(text.splitlines()):
        if (heading := re.match(r"#{1,6} +(.*?) *#*$", line)) and bare[number].startswith("#"):
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            names.add(f"{slug}-{found[slug]}" if slug in found else slug)
            found[slug] = found.get(slug, 0) + 1
    return names


def relinked(text: str, change: Callable[[str], str]) -> str:
    """A page with the target of each link as `change` gives it; code stays."""
    parts, last = [], 0
    for link in LINK.finditer(prose(text)):
        parts += [text[last : link.start()], change(link["target"])]
        last = link.end()
    return "".join([*parts, text[last:]])


def split(page: str, target: str) -> tuple[str, str] | None:
    """The path from the repository's root that a link leads to, and its fragment; None for a link to elsewhere."""
    if "://" in target or target.startswith("mailto:"):
        return None
    path, _, fragment = target.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, fragment


def broken_anchors(root: Path, pages: Iterable[str]) -> list[str]:
    """Links to a heading that the page named does not have. What file a link names is another check's."""
    found: list[str] = []
    known: dict[str, set[str]] = {}

    for page in pages:
        targets = [link["target"] for link in LINK.finditer(prose((root / page).read_text()))]
        for target in targets:
            led = split(page, target)
            if led is None or not led[1] or not led[0].endswith(".md") or not (root / led[0]).is_file():
                continue
            if led[0] not in known:
                known[led[0]] = anchors((root / led[0]).read_text())
            if led[1] not in known[led[0]]:
                found.append(f"{page}: {target}: {led[0]} has no heading of that name")
    return found


def findings(root: Path, pages: list[str]) -> list[str]:
    return sections(root, pages)[1] + broken_anchors(root, pages)


def may_replace(output: Path) -> bool:
    """An empty folder, or a site that this command made and that nobody has made a repository of."""
    if not output.is_dir():
        return not output.exists()
    return not any(output.iterdir()) or (output / MARK).is_file() and not (output / ".git").exists()
