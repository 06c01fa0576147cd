# SPDX-License-Identifier: Apache-2.0
"""towpath(4): groff takes it without a warning, it leaves nothing out and makes nothing up, and the programs in it compile."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(Path(__file__).resolve().parent)]
import drivermanual  # noqa: E402
import manpages  # noqa: E402
import programs  # noqa: E402

DRIVER = ROOT / "driver/linux"
GUIDE = (ROOT / "docs/guide/linux-driver.md").read_text()
HEADER = drivermanual.HEADER.read_text()
TRACE = (DRIVER / "trace.h").read_text()
SOURCES = "".join(path.read_text() for path in sorted(DRIVER.glob("*.c")))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as it is read."""
    if shutil.which("groff") is None:
        pytest.skip("groff renders manual pages, and is missing: install the package groff-base")
    file = tmp_path_factory.mktemp("manual") / "towpath.4"
    file.write_text(drivermanual.page())
    command = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=78n", "-ww", file]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def section(text: str, title: str) -> str:
    found = re.search(rf"^{title}\n(.*?)(?=^\S)", text, re.M | re.S)
    assert found is not None
    return found[1]


def test_nothing_is_left_to_be_filled_in(text: str) -> None:
    assert not re.search(r"@[A-Z]+@", text)


def test_all_that_programs_can_ask_is_there(text: str) -> None:
    names = set(re.findall(r"\bTOWPATH_(?!UAPI_H)\w+", HEADER)) | set(re.findall(r"^struct (\w+) \{", HEADER, re.M))
    assert len(names) > 10
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", text)] == []
    assert set(re.findall(r"\bTOWPATH_\w+", text)) <= names
    # As many lines as there are members, each with its type.
    members = re.findall(r"^\t(?:__[us]\d+|char) [^;]+;", HEADER, re.M)
    assert sorted(line.strip() for line in re.findall(r"^ +(?:__[us]\d+|char) [^;]+;", text, re.M)) == sorted(m.strip() for m in members)


def test_each_error_is_explained(text: str) -> None:
    explained = set(re.findall(r"^       (E[A-Z0-9]+)\b", section(text, "ERRORS"), re.M))
    told = re.findall(r"\bE[A-Z0-9]+\b", HEADER + GUIDE) + re.findall(r"-(E[A-Z0-9]+)\b", SOURCES)
    # No program is told: a card with another contract gets no files.
    unseen = {"EPROTONOSUPPORT"}
    # A call that a signal ends is begun again or not, as the program has wished: ERESTARTSYS, to the kernel.
    assert {name for name in told if hasattr(errno, name)} - unseen | {"EINTR"} == explained


def test_parameters_and_counters_are_there(text: str) -> None:
    parameters = re.findall(r"^module_param\((\w+)", SOURCES, re.M)
    assert re.findall(r"^       (\w+)$", section(text, "MODULE PARAMETERS"), re.M) == sorted(parameters)
    names = re.findall(r"^TP_(?:CARD_ATTRIBUTE|COUNTER|CHANNEL_ATTRIBUTE|STATISTIC)\((\w+)", SOURCES, re.M)
    assert len(names) > 20
    assert [name for name in names if not re.search(rf"\b{name}\b", section(text, "FILES"))] == []


def test_files_in_debugfs_are_there(text: str) -> None:
    files = re.findall(r"\bdebugfs_create_(?!dir)\w+\(\"(\w+)\"", SOURCES)
    assert files and re.findall(r"^       /sys/kernel/debug/towpath/\S*/(\w+)$", section(text, "FILES"), re.M) == files


def test_tracepoints_are_explained(text: str) -> None:
    events = re.findall(r"^(?:TRACE_EVENT\(|DEFINE_EVENT\(\w+, )(\w+)", TRACE, re.M)
    fields = set(re.findall(r"\b__(?:field\([^,()]+, |string\()(\w+)", TRACE))
    explained = section(text, "TRACEPOINTS")
    assert len(events) > 5 and re.findall(r"^       (towpath_\w+)$", explained, re.M) == events
    assert len(fields) > 5 and [field for field in sorted(fields) if not re.search(rf"\b{field}\b", explained)] == []


def test_each_status_is_explained(text: str) -> None:
    names = re.findall(r"TP_STATUS_(\w+) = [1-9]", drivermanual.CONTRACT.read_text())
    assert len(names) > 10
    assert [name for name in names if name.lower().replace("_", " ") not in text] == []


@pytest.mark.parametrize("name, program", programs.texts().items())
def test_a_program_in_it_compiles(name: str, program: str, tmp_path: Path) -> None:
    programs.compiled(program, tmp_path)


@pytest.mark.parametrize(
    "old, new, finding",
    [
        ("/* On the control file. */", "", "not its parts"),
        ("/* What channel `index` is. */\n", "", "TOWPATH_IOC_CHANNEL_INFO: no structure"),
        ("/* Empty the channel, on the card and here. What is in flight ends with ECONNRESET. */\n", "", "CHANNEL_RESET: no comment"),
    ],
)
def test_what_the_header_does_not_explain_is_an_error(
    old: str, new: str, finding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "towpath.h"
    changed.write_text(HEADER.replace(old, new))
    monkeypatch.setattr(drivermanual, "HEADER", changed)
    with pytest.raises(manpages.PageError, match=finding):
        drivermanual.page()
