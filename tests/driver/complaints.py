# SPDX-License-Identifier: Apache-2.0
"""What a kernel says when something is wrong, found in its log; and a simulated card, in its own."""

from __future__ import annotations

import re

# Words that no healthy kernel says; the debug kernel's helpers each have their own.
WORDS = re.compile(
    r"\bBUG\b|WARNING:|\bKASAN\b|\bUBSAN\b|\bOops\b|\bODEBUG\b|Kernel panic|Kernel mode fault|Segfault with no mm|general protection"
    r"|DMA-API: .*(device driver|exceeded|error|mapping|cacheline)"
    r"|INFO: (possible|trying|task|rcu|suspicious|lockdep)|suspicious RCU|inconsistent lock state|possible circular locking"
    r"|possible recursive locking|held lock freed|scheduling while atomic|sleeping function called|blocked for more than"
    r"|kmemleak: (unreferenced|\d+ new suspected)|refcount_t:|list_(add|del) corruption|slab error|usercopy: |stack-protector"
    r"|[Uu]nbalanced|nobody cared|Disabling IRQ|cannot create duplicate|[Uu]nregistered|does not have a release\(\) function"
    r"|Trying to free already-free|trying to free unused|[Bb]ad page|page allocation failure|Out of memory|still has .* (users|references)"
)
# The kernel's own words at boot that would fit.
HARMLESS = re.compile(r"DMA-API: (preallocated|debugging enabled)|KernelAddressSanitizer initialized|kmemleak: .*(initialized|started)")
# Lines of context after a complaint: a report has a stack or two.
CONTEXT = 40


def find(log: str) -> list[str]:
    """Each complaint with what the kernel said with it, and under which test; empty when there is none."""
    found: list[str] = []
    last = -CONTEXT
    during = "boot"
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if mark := re.search(r"towpath: (.+)$", line):
            during = mark[1]
        elif number >= last + CONTEXT and WORDS.search(line) and not HARMLESS.search(line):
            last = number
            found.append(f"during {during}:\n" + "\n".join(lines[number : number + CONTEXT]))
    return found


def strays(log: str) -> list[str]:
    """Where a card reached for memory that was not mapped for it, by its own log."""
    return [line for line in log.splitlines() if "not mapped for it" in line]
