# SPDX-License-Identifier: Apache-2.0
"""./run test counts what ran, and never calls a suite good that went wrong."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import suites

CARGO_OUTPUT = """
running 3 tests
test tests::sends ... ok
test tests::needs_a_card ... ignored, no card here
test tests::receives ... FAILED

failures:

---- tests::receives stdout ----
lost a byte

failures:
    tests::receives

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 2 tests
test src/lib.rs - send (line 3) ... ok
test src/lib.rs - recv (line 9) ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s
"""

GOOD = "def test_a(): pass\n"
MIXED = """import pytest
def test_a(): pass
def test_b(): assert False
@pytest.mark.skip(reason="no card here")
def test_c(): pass
@pytest.fixture
def broken(): raise OSError
def test_d(broken): pass
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a pytest suite over one file with the given text."""
    monkeypatch.setattr(suites, "OUT", tmp_path / "out")

    def run(text: str, budget: int = 60) -> suites.Result:
        (tmp_path / "test_sample.py").write_text(text)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        return suites.run_suite(suites.pytest_suite("sample", "a sample", budget, f"--rootdir={tmp_path}", str(tmp_path)))

    return run


def test_cargo_output_is_counted() -> None:
    result = suites.read_cargo(CARGO_OUTPUT, Path())
    assert (result.passed, result.failures, result.skips) == (3, ["tests::receives"], ["tests::needs_a_card: no card here"])


def test_what_miri_and_thread_sanitizer_find_is_a_failure() -> None:
    ended = "running 2 tests\ntest tests::sends ... error: Undefined Behavior: Data race detected between (1) and (2)\n"
    left = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out;\nerror: memory leaked: alloc7 (8 bytes)\n"
    seen = "SUMMARY: ThreadSanitizer: data race ring.rs:7 in next\n"
    assert suites.read_races(ended, Path()).failures == ["tests::sends: Undefined Behavior: Data race detected between (1) and (2)"]
    assert str(suites.read_races(left + 2 * seen, Path())) == "2 passed, 2 failed, 0 skipped"


def test_a_machine_without_nightly_rust_skips_in_one_line_that_says_what_to_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(suites, "OUT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # no cargo at all
    for suite in suites.SUITES:
        if suite.name in ("miri", "tsan"):
            result = suites.run_suite(suite)
            assert (result.passed, result.failures, len(result.skips)) == (0, [], 1)
            assert "rustup toolchain install nightly" in result.skips[0]


def test_pytest_report_is_counted(run) -> None:
    result = run(MIXED)
    assert result.passed == 1
    assert [name.split("::")[1] for name in result.failures] == ["test_b", "test_d"]
    assert len(result.skips) == 1 and "no card here" in result.skips[0]


def test_skips_are_a_line_for_each_reason_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = """import pytest
@pytest.mark.parametrize("number", range(9))
def test_board(number): pytest.skip("no card here")
def test_alone(): pytest.skip("no\\n\\nnetwork")
def test_good(): pass
"""
    (tmp_path / "test_sample.py").write_text(tests)
    monkeypatch.setattr(suites, "OUT", tmp_path / "out")
    suite = suites.pytest_suite("sample", "", 60, "-q", f"--rootdir={tmp_path}", str(tmp_path))
    monkeypatch.setattr(suites, "SUITES", [suite])
    assert suites.main([]) == 0
    said = capfd.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("skipped")] == [
        "skipped  9 tests: no card here",
        "skipped  test_sample::test_alone: no network",
    ]
    assert said[-1] == "1 passed, 0 failed, 10 skipped"


def test_what_came_from_the_cache_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    tests = 'def test_a(record_property): record_property("cached", True)\ndef test_b(record_property): record_property("cached", False)\n'
    (tmp_path / "test_sample.py").write_text(tests)
    monkeypatch.setattr(suites, "OUT", tmp_path / "out")
    monkeypatch.setattr(suites, "SUITES", [suites.pytest_suite("sample", "", 60, "-q", f"--rootdir={tmp_path}", str(tmp_path))])
    assert suites.main([]) == 0
    assert "from the cache: 1 of the 2 results of sample, for the same sources and tools" in capfd.readouterr().out.splitlines()


def test_good_suite_is_good(run) -> None:
    assert str(run(GOOD)) == "1 passed, 0 failed, 0 skipped"


def test_suite_without_tests_fails(run) -> None:
    assert "no test ran" in run("x = 1\n").failures[0]


def test_suite_that_cannot_be_collected_fails(run) -> None:
    assert run("import no_such_module\n").failures


def test_suite_that_dies_fails(run) -> None:
    assert "no test ran" in run("import os\ndef test_a(): os._exit(0)\n").failures[0]


def test_compile_error_of_cargo_is_a_failure() -> None:
    suite = suites.cargo_suite("rust", "", 60)
    result = suites.judge(suite, "error: could not compile `towpath`", 101, False, 1.0)
    assert "no test ran (exit code 101)" in result.failures[0]


def test_bad_exit_without_a_failed_test_is_a_failure() -> None:
    suite = suites.cargo_suite("rust", "", 60)
    output = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s\n"
    assert "exit code 101" in suites.judge(suite, output, 101, False, 1.0).failures[0]


def test_hanging_suite_is_stopped(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "HANG_SECONDS", 0)
    result = run("import time\ndef test_a(): time.sleep(600)\n", budget=1)
    assert "it hangs" in result.failures[0]
    assert result.seconds < 30


def test_setup_is_handed_to_the_suite_that_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "OUT", tmp_path)

    def said(output: str, _report: Path) -> suites.Result:
        return suites.Result(passed=int("['--setup']" in output))

    show = [sys.executable, "-c", "import sys; print(sys.argv[1:])"]
    monkeypatch.setattr(
        suites, "SUITES", [suites.Suite("with", "", 60, show, said, sets_up=True), suites.Suite("without", "", 60, show, said)]
    )
    assert suites.main(["with", "--setup"]) == 0
    assert suites.main(["with"]) == 1
    with pytest.raises(SystemExit):
        suites.main(["without", "--setup"])


TALKS = """import pathlib, sys, time
here, name, others = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
print(name, "begins", flush=True)
(here / name).touch()
end = time.monotonic() + 30
while not all((here / other).exists() for other in others):
    assert time.monotonic() < end, "it is alone"
    time.sleep(0.01)
print(name, "ends", flush=True)
"""


def test_suites_of_one_core_run_beside_each_other_and_before_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def talks(name: str, budget: int, *others: str, one_core: bool) -> suites.Suite:
        command = [sys.executable, "-c", TALKS, str(tmp_path), name, *others]
        return suites.Suite(name, "", budget, command, lambda output, _: suites.Result(output.count("ends")), one_core=one_core)

    monkeypatch.setattr(suites, "OUT", tmp_path / "out")
    monkeypatch.setattr(suites.os, "sched_getaffinity", lambda _: {0, 1})
    wide = talks("wide", 60, one_core=False)
    short, long = talks("short", 10, "long", one_core=True), talks("long", 20, "short", one_core=True)
    results = suites.run_all([short, wide, long])
    assert list(results) == ["short", "wide", "long"] and all(str(r) == "1 passed, 0 failed, 0 skipped" for r in results.values())
    said = capfd.readouterr().out.splitlines()
    assert "==== 2 at a time, each shown when it ends: long, short" in said
    # Each whole, whoever ended first; and the one that needs all cores when they were done.
    told = [line for line in said if line.endswith(("begins", "ends"))]
    pairs = [told[i : i + 2] for i in range(0, 6, 2)]
    assert pairs[2] == ["wide begins", "wide ends"]
    assert sorted(pairs[:2]) == [[f"{name} begins", f"{name} ends"] for name in ("long", "short")]


def test_one_of_them_that_cannot_run_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "OUT", tmp_path / "out")
    monkeypatch.setattr(suites.os, "sched_getaffinity", lambda _: {0, 1})
    commands = {"absent": [str(tmp_path / "absent")], "long": ["sleep", "600"], "later": ["sleep", "600"]}
    chosen = [suites.Suite(name, "", 60, command, suites.read_junit, one_core=True) for name, command in commands.items()]
    with pytest.raises(FileNotFoundError):
        suites.run_all(chosen)


@pytest.mark.parametrize("count", [1, 2])
def test_ending_the_run_ends_what_it_started(tmp_path: Path, count: int) -> None:
    (tmp_path / "test_sample.py").write_text(f"""import os, pathlib, time
def test_a():
    pathlib.Path({str(tmp_path)!r}, str(os.getpid())).with_suffix(".started").touch()
    time.sleep(600)
""")
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(suites.__file__).parent)!r})
import suites
suites.os.sched_getaffinity = lambda _: {{0, 1}}
suites.OUT = Path({str(tmp_path)!r})
suites.SUITES = [suites.pytest_suite(f"sample{{i}}", "", 60, "--rootdir={tmp_path}", "{tmp_path}") for i in range({count})]
suites.main([])
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("*.started"))) < count and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(30) == 128 + signal.SIGTERM
        finally:
            process.kill()
        # Its output ends only when nobody holds the pipe any more.
        assert process.stdout.read() is not None
    assert len(list(tmp_path.glob("*.started"))) == count
    own = f"--rootdir={tmp_path}".encode()
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if own in read_or_nothing(p)]


def read_or_nothing(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended meanwhile
        return b""


def test_wrong_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        suites.main(["no-such-suite"])
    assert stop.value.code == 2
    assert "no suite no-such-suite" in capsys.readouterr().err


def test_suite_that_is_only_run_when_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(suites, "OUT", tmp_path)
    (tmp_path / "reports").mkdir()
    usual = suites.Suite("usual", "", 60, [], suites.read_junit)
    monkeypatch.setattr(suites, "SUITES", [usual, suites.Suite("long", "", 60, [], suites.read_junit, only_named=True)])
    ran: list[str] = []
    monkeypatch.setattr(suites, "run_suite", lambda suite: ran.append(suite.name) or suites.Result(passed=1))
    assert suites.main([]) == 0 and suites.main(["long"]) == 0
    assert ran == ["usual", "long"]
    assert suites.main(["--list"]) == 0
    assert "(only when named)" in capsys.readouterr().out


def test_times_go_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "testing.md"
    page.write_text("before\n<!-- times: written by ./run test --times -->\nold\n<!-- end of times -->\nafter\n")
    monkeypatch.setattr(suites, "TIMES_PAGE", page)
    suites.write_times("new")
    assert page.read_text() == "before\n<!-- times: written by ./run test --times -->\nnew\n<!-- end of times -->\nafter\n"
