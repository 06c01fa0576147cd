# SPDX-License-Identifier: Apache-2.0
"""Set-up says what is missing and what to type, and leaves nothing that breaks the next run.

Each test sources tools/setup.sh in an empty folder, with stand-ins for the machine's commands in front of PATH.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


class Machine:
    """A folder with tools/setup.sh, and commands that do what a test says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        shutil.copytree(REPOSITORY / "tools", root / "tools", ignore=shutil.ignore_patterns("tests", "__pycache__"))

    def command(self, name: str, script: str, folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def without(self, *names: str) -> str:
        """A PATH on which these commands are not to be found."""
        links = self.root / "links"
        links.mkdir(exist_ok=True)
        for folder in ("/usr/bin", "/bin"):
            for file in Path(folder).iterdir():
                if file.name not in names and not (links / file.name).exists():
                    (links / file.name).symlink_to(file)
        return str(links)

    def run(self, script: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO", "PIP", "CCACHE", "TOWPATH"))}
        environment |= {"PATH": f"{self.bin}:{path or '/usr/bin:/bin'}", "HOME": str(self.root / "home")}
        program = f"set -euo pipefail\n. tools/setup.sh\n{script}"
        return subprocess.run(["bash", "-c", program], cwd=self.root, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def rust(machine: Machine, version: str, folder: Path | None = None) -> None:
    for tool in ("cargo", "rustc"):
        machine.command(tool, f"echo '{tool} {version} (0123456 2026-01-01)'", folder)


def test_without_root_and_sudo_it_names_the_command(machine: Machine) -> None:
    machine.command("id", "echo 1000")
    done = machine.run("tp_apt g++ liblz4-dev", machine.without("sudo"))
    assert done.returncode == 1
    assert "apt-get update && apt-get install -y --no-install-recommends g++ liblz4-dev" in done.stderr


def test_when_sudo_refuses_it_names_the_command(machine: Machine) -> None:
    machine.command("id", "echo 1000")
    machine.command("sudo", "exit 1")
    done = machine.run("tp_apt g++")
    assert done.returncode == 1
    assert "sudo apt-get update && sudo apt-get install -y --no-install-recommends g++" in done.stderr


@pytest.mark.parametrize(
    ("command", "package"),
    [("groff", "groff-base"), ("tclsh", "tcl"), ("valgrind", "valgrind"), ("ccache", "ccache"), ("iverilog", "iverilog")],
)
def test_a_missing_command_is_a_missing_package(machine: Machine, command: str, package: str) -> None:
    done = machine.run('tp_missing_packages; echo "${missing[*]}"', machine.without(command))
    assert package in done.stdout.split(), done


def test_what_is_not_installed_unasked_is_said(machine: Machine) -> None:
    for name in ("javac", "octave-cli", "mkoctfile"):
        machine.command(name, "exit 0")
    assert machine.run("tp_optional").stdout == ""
    for name, said in (("mkoctfile", "no Octave"), ("javac", "no JDK")):
        (machine.bin / name).unlink()
        done = machine.run("tp_optional", machine.without("javac", "octave-cli", "mkoctfile"))
        assert (done.returncode, said in done.stdout) == (0, True), done


def test_on_another_system_it_names_what_is_missing(machine: Machine) -> None:
    done = machine.run("tp_apt g++ make", machine.without("apt-get"))
    assert done.returncode == 1
    assert "not Debian or Ubuntu: g++ make" in done.stderr


def test_when_apt_fails_it_shows_why_and_names_package_and_command(machine: Machine) -> None:
    machine.command("id", "echo 0")
    machine.command("apt-get", 'case "$*" in *install*) echo "E: Unable to locate package g++"; exit 100;; esac')
    done = machine.run("tp_apt g++")
    assert done.returncode == 1
    assert "E: Unable to locate package g++" in done.stderr
    assert "could not install: g++" in done.stderr


def test_without_network_apt_says_so(machine: Machine) -> None:
    machine.command("id", "echo 0")
    machine.command("apt-get", "echo 'Could not resolve host'; exit 100")
    done = machine.run("tp_apt g++")
    assert done.returncode == 1
    assert "is there a network" in done.stderr


@pytest.mark.parametrize(
    "missing, package",
    [
        ("g++", "g++"),
        ("make", "make"),
        ("ccache", "ccache"),
        ("cc", "gcc libc6-dev"),
        ("perl", "perl"),
        ("python3", "python3 python3-venv"),
    ],
)
def test_a_missing_command_becomes_its_package(machine: Machine, missing: str, package: str) -> None:
    script = 'TOWPATH_PYTHON=python3; tp_missing_packages; echo "${missing[*]}"'
    done = machine.run(script, machine.without(missing))
    assert package in done.stdout


def test_missing_headers_become_their_packages(machine: Machine) -> None:
    machine.command("g++", "exit 1")
    done = machine.run('tp_missing_packages; echo "${missing[*]}"')
    assert "liblz4-dev zlib1g-dev" in done.stdout


def test_an_old_python_is_not_taken(machine: Machine) -> None:
    machine.command("python3", "exit 1")  # as one that fails the question for its version
    done = machine.run("TOWPATH_PYTHON=python3; tp_find_python && echo taken || echo refused")
    assert done.stdout == "refused\n"


def test_a_new_rust_on_the_path_is_used_and_an_old_one_is_not(machine: Machine) -> None:
    rust(machine, "1.85.0")
    assert machine.run('tp_rust && echo "$TP_RUST"').stdout.strip() == str(machine.bin)
    rust(machine, "1.84.1")
    done = machine.run('tp_rust_is_good "$PWD/bin" && echo taken || echo refused')
    assert done.stdout == "refused\n"


def test_a_new_rust_beside_an_old_one_is_found(machine: Machine) -> None:
    rust(machine, "1.63.0")
    cargo = machine.root / "home" / ".cargo" / "bin"
    rust(machine, "1.90.0", cargo)
    assert machine.run('tp_rust && echo "$TP_RUST"').stdout.strip() == str(cargo)


def rust_packages(machine: Machine, known: str, search: str) -> subprocess.CompletedProcess[str]:
    """What would be installed where apt knows the packages `known` and a search finds the lines `search`."""
    machine.command("apt-cache", f'case "$1" in show) echo "{known}" | grep -qxF "$2";; search) printf "{search}";; esac')
    machine.command("dpkg", "exit 1")
    return machine.run('TP_APT_UPDATED=1; tp_find_rust() { return 1; }; tp_apt() { echo "$@"; exit 0; }; tp_rust')


def test_debian_12_gets_rustc_web(machine: Machine) -> None:
    done = rust_packages(machine, "cargo-web\nrustc", "cargo-mozilla - x\\n")
    assert done.stdout.strip() == "rustc-web cargo-web rustfmt-web rust-web-clippy"


def test_ubuntu_gets_the_newest_numbered_rust_with_the_tools_that_are_packed(machine: Machine) -> None:
    done = rust_packages(machine, "rustfmt-1.89\nrustfmt-1.75", "cargo-1.75 - x\\ncargo-1.89 - x\\ncargo-1.85 - x\\n")
    assert done.stdout.strip() == "rustc-1.89 cargo-1.89 rustfmt-1.89"


def test_ubuntu_without_a_new_numbered_rust_gets_the_plain_one(machine: Machine) -> None:
    assert rust_packages(machine, "", "cargo-1.75 - x\\n").stdout.strip() == "rustc cargo rustfmt rust-clippy"


def test_an_old_rustc_in_the_way_of_rustc_web_is_named(machine: Machine) -> None:
    machine.command("apt-cache", "exit 0")
    machine.command("dpkg", "exit 0")
    done = machine.run("TP_APT_UPDATED=1; tp_find_rust() { return 1; }; tp_rust")
    assert done.returncode == 1
    assert "apt-get remove rustc cargo" in done.stderr


def test_a_failed_pip_leaves_no_stamp_and_the_next_run_starts_afresh(machine: Machine) -> None:
    # A python whose environments have a pip without network, until the file `network` is there.
    pip = 'case "$*" in *install*) [ -e network ] || { echo "Could not resolve host"; exit 1; };; *dirname*) echo "$PWD/wheel";; esac'
    machine.command("stand-in", pip)
    machine.command("python3", 'case "$1" in -V) echo Python 3.11.2;; -m) mkdir -p "$3/bin"; cp bin/stand-in "$3/bin/python";; esac')
    (machine.root / "wheel" / "include").mkdir(parents=True)
    (machine.root / "wheel" / "include" / "verilated.mk").write_text("CFG_CXXFLAGS_PCH_I = \n")
    script = "TP_PYTHON=python3; tp_venv; ls .towpath/stamp"

    first = machine.run(script)
    assert first.returncode == 1
    assert "Could not resolve host" in first.stderr and "No network" in first.stderr
    assert not (machine.root / ".towpath/stamp/venv").exists()

    (machine.root / "network").touch()
    second = machine.run(script)
    assert second.returncode == 0, second.stderr
    assert "ready" in second.stdout
    assert "-include" in (machine.root / "wheel/include/verilated.mk").read_text()

    third = machine.run(script)
    assert third.stdout == "venv\n"  # nothing to say: nothing to do


def test_zig_is_an_environment_of_its_own_and_a_failed_pip_leaves_no_stamp(machine: Machine) -> None:
    machine.command("stand-in", 'case "$*" in *install*requirements-zig.txt) [ -e network ];; *) exit 1;; esac')
    machine.command("python3", 'case "$1" in -V) echo Python 3.11.2;; -m) mkdir -p "$3/bin"; cp bin/stand-in "$3/bin/python";; esac')
    script = "TP_PYTHON=python3; tp_zig; ls .towpath/stamp"
    first = machine.run(script)
    assert first.returncode == 1 and "tools/requirements-zig.txt" in first.stderr
    (machine.root / "network").touch()
    assert machine.run(script).stdout.endswith("zig\n")
    assert machine.run(script).stdout == "zig\n"  # nothing to say: nothing to do
    assert not (machine.root / ".towpath/venv").exists()


def test_a_broken_build_shows_the_compiler_and_leaves_no_stamp(machine: Machine) -> None:
    rust(machine, "1.90.0")
    machine.command("cargo", "exit 0")
    machine.command("maturin", 'echo "error[E0425]: cannot find value"; exit 1')
    (machine.root / "host").mkdir()
    (machine.root / "host/Cargo.toml").touch()
    done = machine.run("tp_build")
    assert done.returncode == 1
    assert "error[E0425]" in done.stderr and "does not compile" in done.stderr
    assert not (machine.root / ".towpath/stamp/build").exists()


def test_the_hash_follows_content(machine: Machine) -> None:
    (machine.root / "host").mkdir()
    source = machine.root / "host" / "lib.rs"
    hashes = []
    for text in ("one", "two", "one"):
        source.write_text(text)
        hashes.append(machine.run("tp_hash host").stdout)
    assert hashes[0] == hashes[2] != hashes[1]


@pytest.mark.parametrize("arguments, code, text", [([], 2, "usage"), (["nonsense"], 2, "no verb 'nonsense'")])
def test_verbs_that_are_none(arguments: list[str], code: int, text: str) -> None:
    done = subprocess.run([REPOSITORY / "run", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert text in done.stdout + done.stderr


def test_verilator_on_the_path_has_a_version_number() -> None:
    done = subprocess.run(["verilator", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("Verilator 5.")


def test_ci_keeps_what_is_used_and_drops_what_is_not(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / ".ci", tmp_path / "tree/.ci")
    (tmp_path / "tree/.towpath/reports").mkdir(parents=True)
    run = tmp_path / "tree/run"
    run.write_text('#!/bin/sh\necho "$1 with $TOWPATH_CACHE"\necho 2 0 1 >".towpath/reports/$1.count"\n')
    run.chmod(0o755)
    cache = tmp_path / "cache/towpath"
    kept = [
        "formal/new.json",
        "models/new/a.so",
        "models/new.lock",
        "runtime/new/a.o",
        "linux/plain-1/linux",
        "linux/source/old",
        "ccache/old",
    ]
    dropped = ["formal/old.json", "models/old/a.so", "models/old.lock", "runtime/old/a.o", "linux/plain-2/linux", "linux/debug-1/linux"]
    for name in kept + dropped:
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).touch()
    for name in ["linux/source", "linux/source/old", "ccache/old", "models/old", "runtime/old", "linux/plain-2", "linux/debug-1", *dropped]:
        os.utime(cache / name, (0, 0))
    os.utime(cache / "models/new/a.so", (0, 0))  # a folder is one entry
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([tmp_path / "tree/.ci/run"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [f"check with {cache}", f"test with {cache}", "", "4 passed, 0 failed, 2 skipped"], done.stderr
    assert done.returncode == 0
    left = {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()}
    assert left == set(kept)
