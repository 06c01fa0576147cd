#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes towpath(4), the manual page of the kernel driver: `python tools/drivermanual.py` prints it.

driver/linux/packaging/towpath.4 is written by hand, but for its ioctls: what they and their structures are, uapi/towpath.h says, and what
a status is, the contract. So nothing is written twice.
"""

from __future__ import annotations

import re
import sys
import textwrap

import clibrary
from clibrary import ROOT
from manpages import PageError, escape, paragraphs

HEADER = ROOT / "driver/linux/uapi/towpath.h"
CONTRACT = ROOT / "contract/generated/towpath.h"
SOURCE = ROOT / "driver/linux/packaging/towpath.4"
# Each begins with such a comment, in the header.
PARTS = {"@CONTROL@": "/* On the control file. */", "@CHANNEL@": "/* On a channel's file. */"}
WIDTH = 72  # of a structure
REMARK = 28  # the column in which what is said of a member begins

COMMENT = r"/\*(?P<about>(?:(?!\*/).)*)\*/\n"
STRUCTURE = rf"{COMMENT}(?P<text>struct (?P<name>\w+) \{{\n.*?\n\}};)"
NUMBER = rf"(?:{COMMENT})?#define (?P<name>TOWPATH_(?:IOC|URING)_\w+) _IO(?:WR)?\('t', 0x\w+(?:, struct (?P<of>\w+))?\)"
CONSTANT = r"#define (?!TOWPATH_IOC_|TOWPATH_URING_|TOWPATH_UAPI_H)\w+ .*"


def plain(comment: str) -> str:
    """A comment's text, its paragraphs separated by empty lines."""
    return "\n".join(re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()).strip()


def member(line: str) -> list[str]:
    """A line of a structure, with its remark folded beside it."""
    text, _, remark = line.replace("\t", "    ").partition("/*")
    text = text.rstrip()
    if not remark:
        return [text]
    column = max(REMARK, len(text) + 1)
    remark = remark.strip().replace(" */", "\N{NO-BREAK SPACE}*/")  # its end is no line of its own
    folded = [more.replace("\N{NO-BREAK SPACE}", " ") for more in textwrap.wrap(f"/* {remark}", WIDTH - column, subsequent_indent="   ")]
    return [text.ljust(column) + folded[0], *(" " * column + more for more in folded[1:])]


def listing(lines: list[str]) -> list[str]:
    return [".P", ".EX", *(escape(line).replace("-", "\\-") for line in lines), ".EE"]


def part(text: str) -> list[str]:
    """What the header declares in one of its parts, in its order; what has no structure last."""
    numbers = list(re.finditer(NUMBER, text, re.DOTALL))
    of = {number["of"]: number["name"] for number in numbers if number["of"]}
    lines, at = [], 0
    for found in re.finditer(STRUCTURE, text, re.DOTALL):
        constants = [constant[0] for constant in re.finditer(CONSTANT, text[at : found.start()])]
        at = found.end()
        title = of.pop(found["name"], f"struct {found['name']}")
        block = [*constants, *([""] if constants else []), *(new for old in found["text"].splitlines() for new in member(old))]
        lines += [f".SS {title}", *paragraphs(plain(found["about"])), *listing(block)]
    if of:
        raise PageError(f"uapi/towpath.h: {', '.join(of.values())}: no structure with a comment before it")
    for number in numbers:
        if not number["of"]:
            if not number["about"]:
                raise PageError(f"uapi/towpath.h: {number['name']}: no comment before it")
            lines += [f".SS {number['name']}", *paragraphs(plain(number["about"]))]
    return lines


def statuses(text: str) -> list[str]:
    """How a transfer can end. What completes nothing is none."""
    found = re.findall(r"^ +TP_STATUS_(\w+) = ([1-9]\d*), /\* (.*) \*/$", text, re.M)
    if not found:
        raise PageError("contract/generated/towpath.h: it has no statuses")
    return [line for name, number, about in found for line in (".TP", f"{number}, {name.lower().replace('_', ' ')}", *paragraphs(about))]


def page() -> str:
    """The whole page."""
    header, text = HEADER.read_text(), SOURCE.read_text()
    head, *parts = re.split("|".join(re.escape(mark) for mark in PARTS.values()), header)
    if len(parts) != len(PARTS):
        raise PageError(f"uapi/towpath.h: not its parts, {' and '.join(PARTS.values())}")
    parts[0] = head + parts[0]
    for mark, own in zip(PARTS, parts, strict=True):
        text = text.replace(f"{mark}\n", "\n".join(part(own)) + "\n")
    text = text.replace("@STATUS@\n", "\n".join(statuses(CONTRACT.read_text())) + "\n")
    return text.replace("@VERSION@", clibrary.version())


def main() -> int:
    try:
        print(page(), end="")
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
