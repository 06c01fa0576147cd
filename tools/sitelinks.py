# SPDX-License-Identifier: Apache-2.0
"""Where the links of a finished site lead: what `./run docs` made is looked at as a browser would."""

from __future__ import annotations

import html.parser
import os
import re
from pathlib import Path
from urllib.parse import unquote


class Reader(html.parser.HTMLParser):
    """What a page links, and what can be linked in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is not None and name == "id":
                self.ids.add(value)
            elif value is not None and name in ("href", "src"):
                self.links.add(value)
                if tag != "a":
                    self.fetched.add(value)


def broken(site: Path, rust: bool) -> list[str]:
    """Links of the site's pages that lead nowhere, and what they would fetch from elsewhere. rustdoc looks after its own."""
    pages = {p: Reader(p.read_text()) for p in sorted(site.rglob("*.html")) if "rust" not in p.relative_to(site).parts[:1]}
    found = []
    for page, reader in pages.items():
        name = page.relative_to(site)
        found += [f"{name}: fetches {link}" for link in sorted(reader.fetched) if re.match(r"(\w+:)?//", link)]
        for link in sorted(reader.links):
            if re.match(r"\w+:|//", link):
                continue
            path, _, fragment = link.partition("#")
            path = path.partition("?")[0]
            target = Path(os.path.normpath(page.parent / unquote(path))) if path else page
            if not target.is_relative_to(site):
                found.append(f"{name}: {link}: it leads out of the site")
                continue
            if not rust and target.relative_to(site).parts[:1] == ("rust",):
                continue
            if not target.is_file():
                found.append(f"{name}: {link}: there is no such file")
            elif fragment and target in pages and unquote(fragment) not in pages[target].ids:
                found.append(f"{name}: {link}: nothing of that name in it")
    return found
