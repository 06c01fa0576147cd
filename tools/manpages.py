#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages of the C library: `python tools/manpages.py FOLDER` leaves man3/ and man7/ there.

What the pages of section 3 say of functions and types is what towpath.h says, so nothing is written twice; bindings/c/man/pages.toml says
what stands on which page. Every function has a page by its name: the others of a page are links (`.so`). towpath(7) is written by hand.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import clibrary
from clibrary import ROOT

HEADER = ROOT / "bindings/c/include/towpath.h"
SOURCES = ROOT / "bindings/c/man"
WIDTH = 76  # of a prototype
RETURNS = """
Functions that return a `towpath_status` return TOWPATH_OK (0), or a number that says what went wrong; towpath_last_error() says it in
words, and towpath_last_errno() and errno in a number of the system's. Beside what is named above, they may return TOWPATH_INVALID,
TOWPATH_BUS, TOWPATH_FORKED and TOWPATH_INTERNAL. What a pointer for a result points to is left as it was on failure, unless something
else is said above.
"""


class PageError(Exception):
    """Header and pages do not fit together; the text says where."""


@dataclass
class Item:
    """Something that the header declares, and what it says of it."""

    name: str
    text: str  # the declaration, without its members
    about: str
    members: list[tuple[str, str]] = field(default_factory=list)  # declaration and what is said of it

    @property
    def is_function(self) -> bool:
        return self.text.endswith(")") and not self.text.startswith("typedef")


COMMENT = r"/\*\*\n(?P<about>(?: *\*(?!/).*\n)+) *\*/\n"


def plain(comment: str) -> str:
    """A comment's text, its paragraphs separated by empty lines."""
    lines = [re.sub(r"^ *\* ?", "", line) for line in comment.splitlines()]
    return "\n".join(lines).strip()


def read(header: str) -> dict[str, Item]:
    """All that the header declares, by name."""
    found = {}
    for match in re.finditer(rf"^{COMMENT}(?P<text>#define .*|[^#]*?;(?=\n(?:\n|#)))", header, re.M):
        text, about = match["text"], plain(match["about"])
        if define := re.fullmatch(r"#define (\w+) .*", text):
            item = Item(define[1], text, about)
        elif block := re.fullmatch(r"(typedef (?:struct|enum)) \{\n(.*)\} (\w+);", text, re.DOTALL):
            members = [(m["text"].rstrip(",;"), plain(m["about"])) for m in re.finditer(rf"^ *{COMMENT} *(?P<text>.*)$", block[2], re.M)]
            item = Item(block[3], f"{block[1]} {block[3]}", about, members)
        else:
            text = re.sub(r"\s+", " ", text).rstrip(";")
            names = re.findall(r"\b(towpath_\w+)(?=\)?\(|$)", text)
            if not names:
                raise PageError(f"towpath.h: what does this declare? {text}")
            item = Item(names[0], text, about)
        found[item.name] = item
    return found


# --- roff ----------------------------------------------------------------------------------------------------------------------


def escape(text: str) -> str:
    return text.replace("\\", "\\e")


def code(text: str) -> str:
    return f"\\fB{escape(text).replace('-', chr(92) + '-')}\\fP"


def sentence(text: str) -> str:
    """Running text: code between backticks, functions with their section, constants in bold."""
    parts = re.split(r"(`[^`]*`|\btowpath_\w+\(\)|\b(?:dup|poll|fork|longjmp|dlclose)\(\)|\bTOWPATH_\w+)", text)
    marked = ""
    for part in parts:
        if part.startswith("`"):
            marked += code(part.strip("`"))
        elif part.endswith("()"):
            marked += f"{code(part[:-2])}({'3' if part.startswith(('towpath', 'longjmp', 'dlclose')) else '2'})"
        elif part.startswith("TOWPATH_"):
            marked += code(part)
        else:
            marked += escape(part)
    return marked


def paragraphs(text: str) -> list[str]:
    """Paragraphs as lines, a sentence on each, for roff fills them itself."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if lines:
            lines.append(".P")
        joined = re.sub(r"\s+", " ", paragraph.strip())
        for line in re.split(r"(?<=[.:;]) (?=[A-Z])", joined):
            line = sentence(line)
            lines.append("\\&" + line if line.startswith((".", "'")) else line)
    return lines


def prototype(text: str) -> list[str]:
    """A declaration in bold, its arguments on lines of their own if it is too long for one."""
    head, bracket, rest = text.partition("(")
    arguments = rest[:-1].split(", ") if bracket and not text.startswith("typedef") else []
    if len(text) + 1 <= WIDTH or not arguments:
        return [code(text + ";")]
    lines, line = [], f"{head}("
    for number, argument in enumerate(arguments):
        piece = argument + (");" if number + 1 == len(arguments) else ", ")
        if len(line) + len(piece.rstrip()) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += piece
    return [code(line) for line in [*lines, line]]


def described(item: Item) -> list[str]:
    lines = [f".SS {item.name}{'()' if item.is_function else ''}", *paragraphs(item.about)]
    if item.text.startswith(("#define", "typedef void")):
        lines += [".P", ".nf", code(item.text if item.text.startswith("#") else item.text + ";"), ".fi"]
    for declaration, about in item.members:
        lines += [".TP", code(declaration), *paragraphs(about)]
    return lines


def section_3(page: dict[str, list[str]], items: dict[str, Item], others: list[str]) -> str:
    functions, types = ([items[name] for name in page[kind]] for kind in ("functions", "types"))
    lines = [
        '.\\" SPDX-License-Identifier: Apache-2.0',
        '.\\" Generated by tools/manpages.py from towpath.h.',
        f'.TH {functions[0].name} 3 "" "Towpath {clibrary.version()}" "Towpath"',
        ".nh",  # names are not to be torn
        ".ad l",
        ".SH NAME",
        f"{', '.join(f.name for f in functions)} \\- {page['about']}",
        ".SH SYNOPSIS",
        ".nf",
        ".B #include <towpath.h>",
    ]
    for function in functions:
        lines += [".P", *prototype(function.text)]
    lines += [".fi", ".SH DESCRIPTION"]
    for item in functions:
        lines += described(item)
    if types:
        lines.append(".SH TYPES")
    for item in types:
        lines += described(item)
    lines += [".SH RETURN VALUE", *paragraphs(RETURNS)]
    lines += [".SH SEE ALSO", links([("towpath", 7), *((name, 3) for name in others)])]
    return "\n".join(lines) + "\n"


def links(pages: list[tuple[str, int]]) -> str:
    return ",\n".join(f"{code(name)}({section})" for name, section in pages)


# --- pages ---------------------------------------------------------------------------------------------------------------------


def pages(header: str, plan: str) -> dict[str, str]:
    """Every page by its name below the folder for manual pages."""
    items, groups = read(header), tomllib.loads(plan)["page"]
    planned = [name for group in groups for name in [*group["functions"], *group["types"]]]
    for name in sorted({*planned, *items}):
        if planned.count(name) != 1 or name not in items:
            raise PageError(f"{name}: on {planned.count(name)} pages of pages.toml, {'' if name in items else 'not '}in towpath.h")
    first = [group["functions"][0] for group in groups]
    made = {}
    for group in groups:
        own = group["functions"][0]
        made[f"man3/{own}.3"] = section_3(group, items, [name for name in first if name != own])
        made |= {f"man3/{name}.3": f".so man3/{own}.3\n" for name in group["functions"][1:]}
    overview = (SOURCES / "towpath.7").read_text()
    made["man7/towpath.7"] = overview.replace("@VERSION@", clibrary.version()).replace("@PAGES@", links([(name, 3) for name in first]))
    return made


def write(folder: Path) -> None:
    for name, text in pages(HEADER.read_text(), (SOURCES / "pages.toml").read_text()).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python tools/manpages.py FOLDER", file=sys.stderr)
        return 2
    try:
        write(Path(arguments[0]))
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
