# SPDX-License-Identifier: Apache-2.0
"""The table of proofs says what the reports say, never more; and what is wrong with it is found."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import driverproofs

PROMISES = """\
[skips]
"no such bus" = "This kernel has no such bus."
[[promise]]
text = "It starts"
tests = ["tests/driver/guest/test_life.py::test_start"]
[[promise]]
text = "It stops"
tests = ["tests/driver/guest/test_life.py", "!tests/driver/guest/test_life.py::test_start"]
remark = "No board has met it."
[[promise]]
text = "It lasts"
tests = ["tests/driver/soak/test_long.py", "tests/driver/guest/test_life.py::test_stop[slow]"]
"""
FILES = {
    driverproofs.PROMISES: PROMISES,
    "tests/driver/guest/test_life.py": "def test_start(): ...\ndef test_stop(how): ...\ndef helper(): ...\n",
    "tests/driver/soak/test_long.py": "def test_long(): ...\n",
}
PASSED = {"test_life::test_start": "", "test_life::test_stop[fast]": "", "test_life::test_stop[slow]": ""}
SKIPPED = '<skipped message="no such bus" />'
FAILED = '<failure message="no" />'
LONG = {"soak.test_long::test_long": ""}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def report(root: Path, name: str, tests: dict[str, str], own: str = "") -> Path:
    """A JUnit report of tests in guest/ (or a folder that is named), with what there is inside each case."""
    cases = []
    for test, inside in tests.items():
        module, _, function = test.partition("::")
        module = module if "." in module else f"guest.{module}"
        cases.append(f'<testcase classname="tests.driver.{module}" name="{function}" time="0.123">{inside}</testcase>')
    own = f'<testcase classname="tests.driver.run" name="guest-1: the kernel does not complain">{own}</testcase>'
    (root / f"{name}.xml").write_text(f'<testsuites><testsuite hostname="here">{own}{"".join(cases)}</testsuite></testsuites>')
    return root


def write(root: Path) -> list[str]:
    """The rows of the table, once it has been written from the reports that are there."""
    driverproofs.renew(root, root)
    text = driverproofs.made(root)
    (root / driverproofs.PAGE).write_text(text)
    assert driverproofs.findings(root) == []
    return [line for line in text.splitlines() if line.startswith(("| 1 |", "| 2 |", "| 3 |"))]


def cells(row: str) -> dict[str, str]:
    _, _, promise, *rest, limits, _ = (each.strip() for each in row.split("|"))
    return {"promise": promise, **dict(zip(driverproofs.COLUMNS, rest, strict=True)), "limits": limits}


def test_what_passed_is_proven(root: Path) -> None:
    report(root, "driver", PASSED)
    report(root, "soak-plain", LONG)
    rows = [cells(row) for row in write(root)]
    assert [row["promise"] for row in rows] == ["It starts", "It stops", "It lasts"]
    assert [row["UML"] for row in rows] == ["passed"] * 3
    assert [row["debug"] for row in rows] == ["not run"] * 3
    assert [row["soak"] for row in rows] == ["", "", "UML passed, debug not run, QEMU not run"]
    assert [row["builds"] for row in rows] == [""] * 3
    assert rows[1]["limits"] == "No board has met it."
    assert "3 promises; not proven: none." in driverproofs.made(root)


def test_nothing_is_proven_without_a_report(root: Path) -> None:
    for row in map(cells, write(root)):
        assert row["promise"].startswith("**Not proven.**")
        assert row["UML"] == "not run"
    assert "not proven: 1, 2, 3." in driverproofs.made(root)


def test_a_failure_anywhere_is_shown(root: Path) -> None:
    report(root, "driver", PASSED)
    report(root, "driver-qemu", PASSED | {"test_life::test_stop[fast]": FAILED})
    started, stopped, _ = map(cells, write(root))
    assert (started["promise"], started["QEMU"]) == ("It starts", "passed")
    assert stopped["promise"].startswith("**Not proven.**")
    assert (stopped["UML"], stopped["QEMU"]) == ("passed", "**FAILED**")


def test_a_failed_teardown_is_a_failure(root: Path) -> None:
    report(root, "driver", PASSED)
    text = (root / "driver.xml").read_text()
    again = '<testcase classname="tests.driver.guest.test_life" name="test_start"><error message="no" /></testcase>'
    (root / "driver.xml").write_text(text.replace("</testsuite>", again + "</testsuite>"))
    assert cells(write(root)[0])["UML"] == "**FAILED**"


@pytest.mark.parametrize("tests", [PASSED, {}])
def test_a_run_that_went_wrong_as_a_whole_proves_nothing(root: Path, tests: dict[str, str]) -> None:
    report(root, "driver", tests, own=FAILED)
    for row in map(cells, write(root)[:2]):
        assert row["promise"].startswith("**Not proven.**")
        assert row["UML"] == "**FAILED**"


def test_known_reasons_of_skips_are_footnotes(root: Path) -> None:
    report(root, "driver", PASSED)
    report(root, "driver-debug", PASSED | {"test_life::test_start": SKIPPED, "test_life::test_stop[slow]": SKIPPED})
    started, stopped, _ = map(cells, write(root))
    assert (started["promise"], started["debug"]) == ("It starts", "–[^1]")
    assert (stopped["promise"], stopped["debug"]) == ("It stops", "in part[^1]")
    assert "\n[^1]: This kernel has no such bus.\n" in driverproofs.made(root)


def test_what_was_skipped_everywhere_is_not_proven(root: Path) -> None:
    report(root, "driver", PASSED | {"test_life::test_stop[slow]": SKIPPED})
    _, stopped, _ = map(cells, write(root))
    assert stopped["promise"].startswith("**Not proven.**")
    assert stopped["UML"] == "in part[^1]"


def test_an_unknown_reason_of_a_skip_counts_as_not_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = '<skipped message="/somewhere/else could not be fetched" />'
    report(root, "driver", PASSED | {"test_life::test_start": unknown, "test_life::test_stop[slow]": unknown})
    started, stopped, _ = map(cells, write(root))
    assert (started["UML"], stopped["UML"]) == ("not run", "incomplete")
    assert started["promise"].startswith("**Not proven.**")
    assert "does not list" in capsys.readouterr().out
    # Of the machine nothing is kept.
    assert "somewhere" not in (root / driverproofs.RESULTS).read_text()


def test_a_new_test_has_not_run(root: Path) -> None:
    report(root, "driver", PASSED)
    write(root)
    source = root / "tests/driver/guest/test_life.py"
    source.write_text(source.read_text() + "def test_stop_again(): ...\n")
    assert "PROOFS.md" in "\n".join(driverproofs.findings(root))
    _, stopped, _ = map(cells, write(root))
    assert stopped["promise"].startswith("**Not proven.**")
    assert stopped["UML"] == "incomplete"


def test_a_parameter_that_no_run_has_is_not_proven(root: Path) -> None:
    (root / driverproofs.PROMISES).write_text(PROMISES.replace("test_stop[slow]", "test_stop[slower]"))
    report(root, "driver", PASSED)
    report(root, "soak-plain", LONG)
    lasts = cells(write(root)[2])
    assert lasts["promise"].startswith("**Not proven.**")
    assert lasts["UML"] == "not run"


def test_results_are_kept_without_times_and_until_a_report_replaces_them(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(root, "driver", PASSED)
    write(root)
    (root / "driver.xml").unlink()
    report(root, "driver-qemu", {"test_life::test_start": ""})
    rows = [cells(row) for row in write(root)]
    assert (rows[0]["UML"], rows[0]["QEMU"], rows[1]["UML"], rows[1]["QEMU"]) == ("passed", "passed", "passed", "not run")
    kept = (root / driverproofs.RESULTS).read_text()
    assert json.loads(kept)["tests"]["tests/driver/guest/test_life.py"]["test_start"] == {"UML": "passed", "QEMU": "passed"}
    assert not any(word in kept for word in ("0.123", "here", str(root)))
    # A report of a suite that could not run replaces nothing.
    report(root, "driver", {})
    capsys.readouterr()
    assert cells(write(root)[0])["UML"] == "passed"
    assert "UML: no test ran, says driver.xml: its results stay as they were" in capsys.readouterr().out
    assert (root / driverproofs.RESULTS).read_text() == kept


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        (driverproofs.PAGE, "It starts", "It always starts", "PROOFS.md: not what"),
        (driverproofs.PROMISES, "It starts", "It always starts", "PROOFS.md: not what"),
        (driverproofs.RESULTS, "passed", "failed", "PROOFS.md: not what"),
        (
            driverproofs.PROMISES,
            "test_life.py::test_start",
            "test_life.py::test_begin",
            "no such test: tests/driver/guest/test_life.py::test_begin",
        ),
        (driverproofs.PROMISES, "soak/test_long.py", "soak/test_longer.py", "no such test: tests/driver/soak/test_longer.py"),
        ("tests/driver/guest/test_life.py", "def test_stop(", "def test_end(", "no such test: tests/driver/guest/test_life.py::test_stop"),
        (driverproofs.PROMISES, "text = ", "txet = ", "a promise has a text"),
        (driverproofs.PROMISES, 'tests = ["tests/driver/guest/test_life.py::test_start"]', "tests = []", "no test is named for: It starts"),
        (driverproofs.PROMISES, "[[promise]]", "[[promise", "TOMLDecodeError"),
    ],
)
def test_a_planted_fault_is_found(root: Path, file: str, old: str, new: str, finding: str) -> None:
    report(root, "driver", PASSED)
    write(root)
    text = (root / file).read_text()
    assert old in text
    (root / file).write_text(text.replace(old, new))
    assert finding in "\n".join(driverproofs.findings(root))


def test_a_guest_test_without_a_promise_is_found(root: Path) -> None:
    write(root)
    (root / "tests/driver/guest/test_new.py").write_text("def test_new(): ...\n")
    assert driverproofs.findings(root) == [f"tests/driver/guest/test_new.py: no promise in {driverproofs.PROMISES} names a test of it"]


def test_the_page_says_what_is_wrong_with_its_sources(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(driverproofs, "ROOT", root)
    report(root, "driver", PASSED)
    assert driverproofs.main(["--renew", f"--reports={root}"]) == 0
    assert "not proven: 3." in capsys.readouterr().out
    (root / driverproofs.PROMISES).write_text(PROMISES.replace("test_start", "test_begin"))
    assert driverproofs.main([]) == 1
    assert "no such test" in capsys.readouterr().err
