# SPDX-License-Identifier: Apache-2.0
"""The command line, `towpath` or `python -m towpath`: the same Rust code as the program built by cargo."""

from __future__ import annotations

import os
import signal
import sys

from towpath import _home, _towpath


def main() -> int:
    # In the environment, for the program of `run` too: this process is the command line's own, and has no other thread yet.
    os.environ.update(_home.defaults())
    # Python would handle an interrupt only after the Rust code has returned; the default action ends the program, as in the Rust build.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _towpath.main(["towpath", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
