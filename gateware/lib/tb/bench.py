# SPDX-License-Identifier: Apache-2.0
"""What the benches of gateware/ share: the packages' constants and structures, seeds, and how a bench is compiled and run.

Nothing here types an offset or a width: both come from the packages, through slang.
"""

import hashlib
import os
import random
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pyslang

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/formal"))
import prove  # noqa: E402

PACKAGES = [ROOT / "contract/generated/towpath_pkg.sv", ROOT / "gateware/endpoint/tp_tlp_pkg.sv"]


def _package(path: Path, *needs: Path):
    compilation = pyslang.ast.Compilation()
    for file in (*needs, path):
        compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromFile(str(file)))
    return compilation.getPackage(path.stem)


class Constants:
    """The parameters and enumeration values of a package, as attributes."""

    def __init__(self, path: Path):
        for member in _package(path):
            if member.kind in (pyslang.ast.SymbolKind.Parameter, pyslang.ast.SymbolKind.TransparentMember):
                symbol = getattr(member, "wrapped", member)
                setattr(self, symbol.name, int(symbol.value.value))


class Layout:
    """A packed structure of a package, which may need others: to an integer and back."""

    def __init__(self, path: Path, name: str, *needs: Path):
        kind = _package(path, *needs).find(name).targetType.type.canonicalType
        self.width = kind.bitWidth
        self.fields = {part.name: (part.bitOffset, part.type.bitWidth) for part in kind}

    def pack(self, **values) -> int:
        word = 0
        for name, value in values.items():
            offset, width = self.fields[name]
            assert 0 <= value < 1 << width, f"{name}: {value} does not fit {width} bits"
            word |= value << offset
        return word

    def unpack(self, word: int) -> dict[str, int]:
        return {name: word >> offset & (1 << width) - 1 for name, (offset, width) in self.fields.items()}


TP = Constants(PACKAGES[0])
TLP = Constants(PACKAGES[1])
CONFIG, WRITE, ANSWER, REQUEST = (Layout(PACKAGES[1], f"tp_{name}_t") for name in ("config", "write_hdr", "answer_hdr", "request_hdr"))


def generator(what: str) -> random.Random:
    """Random numbers for one test. TOWPATH_SEED replays a run; what it was is printed with each test."""
    seed = os.environ["TOWPATH_SEED"]
    print(f"{what}: replay with TOWPATH_SEED={seed}", flush=True)
    return random.Random(f"{seed} {what}")


def text(*names: str) -> str:
    """A parameter of names: 32 bytes each, the first in the lowest bits."""
    image = b"".join(name.encode().ljust(TP.TP_NAME_BYTES, b"\0") for name in names)
    return f"{8 * len(image)}'h{int.from_bytes(image, 'little'):x}"


def sources(*folders: str) -> list[Path]:
    return PACKAGES + [f for folder in folders for f in sorted((ROOT / "gateware" / folder).glob("*.sv"))]


def listed(*lists: str) -> list[Path]:
    """The sources that these file lists name, in order; a list's name is from the root."""
    lines = [line for name in lists for line in (ROOT / name).read_text().splitlines()]
    return [ROOT / line for line in lines if line and not line.startswith("//")]


def run(
    top: str,
    files: list[Path],
    module: Path,
    build: Path,
    parameters: dict | None = None,
    defines: dict | None = None,
    more: tuple[str, ...] = (),
    quick: bool = False,
) -> None:
    """Compiles `top` with Verilator and runs the cocotb tests of `module`, and of the modules `more` beside it; raises if one fails.

    `quick` compiles without optimisation: for large designs of which little is simulated.
    """
    from cocotb_tools.runner import get_results, get_runner

    os.environ.setdefault("TOWPATH_SEED", str(random.SystemRandom().randrange(1 << 32)))
    os.environ["PATH"] = f"{ROOT / 'tools/bin'}:{os.environ['PATH']}"
    runner = get_runner("verilator")
    runner.build(
        sources=files,
        hdl_toplevel=top,
        build_dir=build,
        parameters=parameters or {},
        defines=defines or {},
        build_args=[
            # cocotb makes every signal visible, which doubles the model. Benches see the top's, and what a `.vlt` among the sources names.
            *("--no-public-flat-rw", "--public-depth", "1"),
            # One file: the headers take longer than the rest, and other benches use the other cores.
            *("--output-split", "0"),
            *(("-CFLAGS", "-O0") if quick else ()),
            *("--assert", "-Wno-fatal", "-Wno-lint", "-Wno-style"),
        ],
        timescale=("1ps", "1ps"),
    )
    environment = {
        "TOWPATH_SEED": os.environ["TOWPATH_SEED"],
        "COCOTB_LOG_LEVEL": "WARNING",
        "GPI_LOG_LEVEL": "WARNING",
        "PYTHONPATH": os.pathsep.join([str(module.parent), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    }
    results = runner.test(
        hdl_toplevel=top,
        test_module=["quick_handles", module.stem, *more],
        build_dir=build,
        test_dir=build,
        extra_env=environment,
        plusargs=[f"+verilator+seed+{int(os.environ['TOWPATH_SEED']) % (1 << 31) or 1}"],
    )
    tests, failures = get_results(results)
    assert tests and not failures, f"{failures} of {tests} tests failed; replay with TOWPATH_SEED={os.environ['TOWPATH_SEED']}"


def find_planted(fault: tuple[Path, str, str], files: list[Path], folder: Path, tests: Path, run: Callable[[list[Path]], None]) -> bool:
    """Plants a fault (in which file, what stands there, what stands there instead), and runs a bench in `folder`, which must fail.

    That a bench has found it is kept for these very sources, files of `tests` and tools, as results of proofs are. Returns whether it was.
    """
    import pytest

    source, sound, faulty = fault
    text = source.read_text()
    assert text.count(sound) == 1, f"{source.name} has no single {sound!r}: adapt the fault"
    planted = folder / source.name
    planted.write_text(text.replace(sound, faulty))
    texts = {str(file.relative_to(ROOT)): (planted if file == source else file).read_text() for file in files}
    # A bench names constants of the packages, too.
    benches = {str(file): file.read_text() for place in (Path(__file__).parent, tests) for file in sorted(place.glob("*.py"))}
    used = prove.named(texts | benches)
    contents = [*(f"{name}\n{prove.content(used[name])}" for name in sorted(texts)), *benches.values()]
    key = hashlib.sha256("\0".join([*contents, version("verilator"), version("cocotb")]).encode()).hexdigest()
    kept = prove.CACHE.parent / "planted" / key
    if kept.exists():
        kept.touch()  # what is used is kept: see .ci/run
        return True
    with pytest.raises(SystemExit):
        run([planted if file == source else file for file in files])
    assert any("<failure" in report.read_text() for report in folder.glob("**/*result*.xml")), "it failed, but not in the bench"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    return False
