# SPDX-License-Identifier: Apache-2.0
"""The example programs run, those for the core loopback over a card in another process, too, and the demo tells right from wrong."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(ROOT / "tests"))
import loopback  # noqa: E402

LOOPBACK = [name for name in loopback.SAYS if name.endswith(".py")]
OTHERS = sorted({path.name for path in EXAMPLES.glob("*.py")} - {*LOOPBACK, "edges.py", "tensor.py"})


def run(program: str, *arguments: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | variables, timeout=180)


@pytest.mark.parametrize("program", OTHERS)
def test_program(program: str, tmp_path: Path) -> None:
    done = run(program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


# With a GPU it is one of the checks of tests/gpu/on_a_gpu.py.
@pytest.mark.parametrize(
    ("torch", "says"),
    [
        ("raise ImportError", "PyTorch is not installed"),
        ("class cuda:\n    is_available = staticmethod(bool)", "PyTorch finds no CUDA GPU"),
    ],
)
def test_the_tensor_program_says_what_it_lacks(torch: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(torch)
    done = run("tensor.py", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


# What holds when a notebook has run, in its own names.
NOTEBOOKS = {
    "tour": """
import edges as demo

assert np.array_equal(edges, demo.sobel(grey)) and edges.any()
assert len(times) == len(sizes) and times[-1] > times[0]
assert np.array_equal(back, wave)
assert small[-1] > small[0] and large[-1] > small[-1]
assert len(plt.get_fignums()) == 3
""",
    "fields": """
assert np.array_equal(filtered, fir.reference(fir.low_pass(0.03), noisy))
assert error.max() < fft.BOUND
assert plain == picture.tobytes() != cipher
assert np.array_equal(product, cosines.astype(int) @ waves)
assert [tuple(map(int, record)) for record in records] == [packets.parsed(data) for data in sent]
assert np.array_equal(steps, mandelbrot.reference(c))
assert len(plt.get_fignums()) == 6
""",
}
needs_ghdl = pytest.mark.skipif(shutil.which(os.environ.get("TOWPATH_GHDL", "ghdl")) is None, reason="no GHDL here, which reads VHDL")
notebooks = pytest.mark.parametrize("name", ["tour", pytest.param("fields", marks=needs_ghdl)])


@notebooks
def test_the_notebook_computes_what_it_shows(name: str, tmp_path: Path) -> None:
    right = NOTEBOOKS[name]
    cells = [cell for cell in json.loads((EXAMPLES / f"{name}.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert f"== {sum('image/png' in output['data'] for cell in cells for output in cell['outputs'])}\n" in right
    program = tmp_path / "notebook.py"
    program.write_text("\n".join(["".join(cell["source"]) for cell in cells] + [right]))
    own = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(EXAMPLES)}
    done = subprocess.run([sys.executable, program], cwd=EXAMPLES, env=own, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@notebooks
def test_the_notebook_runs_in_jupyter(name: str) -> None:
    missing = "no Jupyter here: pip install nbclient ipykernel"
    pytest.importorskip("ipykernel", reason=missing)
    nbclient = pytest.importorskip("nbclient", reason=missing)
    nbformat = pytest.importorskip("nbformat", reason=missing)
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    shown = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "image/png" in output.get("data", {})
    ]
    assert f"== {len(shown)}\n" in NOTEBOOKS[name]


@pytest.fixture(scope="module", params=["sim", "vfio-user"])
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sim":
        yield "sim:loopback"
    else:
        with loopback.served(tmp_path_factory.mktemp("served"), sys.executable, "-m", "towpath") as name:
            yield name


@pytest.mark.parametrize("program", LOOPBACK)
def test_a_program_says_the_same_over_a_card_of_any_name(device: str, program: str, tmp_path: Path) -> None:
    done = run(program, cwd=tmp_path, TOWPATH_DEVICE=device)
    assert (done.returncode, done.stdout, done.stderr) == (0, loopback.SAYS[program], "")


@pytest.fixture(scope="module")
def edges() -> ModuleType:
    spec = importlib.util.spec_from_file_location("edges", EXAMPLES / "edges.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["edges"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("shape", [(1, 5), (2, 9), (3, 3), (7, 4), (20, 31)])
def test_the_hosts_filter_is_the_definition(edges: ModuleType, shape: tuple[int, int]) -> None:
    """Against the formula in cores/sobel/sobel.sv, written out pixel by pixel."""
    p = np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8).astype(int)
    expected = np.zeros(shape, dtype=np.uint8)
    for y in range(1, shape[0] - 1):
        for x in range(1, shape[1] - 1):
            gx = sum(w * (p[y + d, x + 1] - p[y + d, x - 1]) for d, w in ((-1, 1), (0, 2), (1, 1)))
            gy = sum(w * (p[y + 1, x + d] - p[y - 1, x + d]) for d, w in ((-1, 1), (0, 2), (1, 1)))
            expected[y, x] = min(255, abs(gx) + abs(gy))
    assert np.array_equal(edges.sobel(p.astype(np.uint8)), expected)


def test_the_demo_with_its_own_photograph(tmp_path: Path) -> None:
    done = run("edges.py", "--output", "both.png", "--json", "result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["identical"] is True and result["output"] == "both.png"
    for direction in ("h2c", "c2h"):
        assert result[direction]["bytes"] == 512 * 600
        assert 0 < result[direction]["nanoseconds"] < 1e9
        assert 50 < result[direction]["percent_of_wire"] <= 100
    with Image.open(tmp_path / "both.png") as both:
        assert both.size == (512 + 8 + 512, 600)
    assert "both.png" in done.stdout and "H2C" in done.stdout and "C2H" in done.stdout


@pytest.mark.parametrize(
    ("name", "size", "mode"), [("small.png", (3, 1), "L"), ("odd.png", (101, 67), "RGBA"), ("odd.jpg", (77, 33), "RGB")]
)
def test_the_demo_with_a_picture_of_ones_own(name: str, size: tuple[int, int], mode: str, tmp_path: Path) -> None:
    bands = len(mode)
    noise = np.random.default_rng(4).integers(0, 256, (size[1], size[0], bands), dtype=np.uint8)
    Image.fromarray(noise[:, :, 0] if bands == 1 else noise).save(tmp_path / name)
    done = run("edges.py", "--image", name, "--json", "result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["h2c"]["bytes"] == size[0] * size[1]


def test_a_picture_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture at all")
    done = run("edges.py", "--image", "text.png", cwd=tmp_path)
    assert done.returncode == 2 and "text.png" in done.stderr and "PNG or a JPEG" in done.stderr
    done = run("edges.py", "--image", "missing.png", cwd=tmp_path)
    assert done.returncode == 2 and "missing.png" in done.stderr
    with open(EXAMPLES / "edges.py", "rb") as whole:
        noise = whole.read()
    Image.fromarray(np.frombuffer(noise[:4096], dtype=np.uint8).reshape(64, 64)).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:600])
    done = run("edges.py", "--image", "half.png", cwd=tmp_path)
    assert done.returncode == 2 and "half.png" in done.stderr and "Traceback" not in done.stderr


def test_outputs_are_tried_before_the_work(tmp_path: Path) -> None:
    done = run("edges.py", "--output", "/no/such/folder/x.png", cwd=tmp_path)
    assert done.returncode == 2 and "/no/such/folder/x.png" in done.stderr
    assert "Opening" not in done.stdout
    done = run("edges.py", "--json", "/dev/full", cwd=tmp_path)
    assert done.returncode == 2 and "/dev/full" in done.stderr


def test_the_demo_notices_a_wrong_byte(
    edges: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = edges.sobel

    def wrong(grey: np.ndarray) -> np.ndarray:
        result: np.ndarray = right(grey)
        result[5, 7] ^= 1
        return result

    monkeypatch.setattr(edges, "sobel", wrong)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["edges.py", "--json", "result.json"])
    assert edges.main() == 1
    assert "1 of 307200 bytes differ" in capsys.readouterr().err
    assert json.loads((tmp_path / "result.json").read_text())["identical"] is False
