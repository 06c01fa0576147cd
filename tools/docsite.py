#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run docs`: all pages of this repository as one site, with the C, Python and Rust references, into .towpath/site.

Pages keep their places, so their links hold as they are; a source that a page links becomes a page as well. Sphinx reads them with MyST,
which takes Markdown as other readers of these pages do. A warning of Sphinx or of rustdoc is an error, and so is a link in the result that
leads nowhere. The site fetches nothing from elsewhere and works from a folder: .towpath/site/index.html.

Runs in the environment of tools/requirements-docs.txt.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import clibrary
import sitelinks
import sitepages
import sitereference
from sitepages import HOME, ROOT, Section

OUT = ROOT / ".towpath"
SETTINGS = """
project = "Towpath"
author = "Towpath"
release = "@VERSION@"
html_title = "Towpath @VERSION@"
html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 6
smartquotes = False
highlight_language = "text"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
nitpicky = True
# Names of others, and annotations that no page explains.
nitpick_ignore_regex = [("py:.*", ".*"), ("c:identifier", "(?!towpath).*")]
toc_object_entries_show_parents = "hide"
# A source with a word that its highlighter does not know is shown plain.
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns = []
"""
RUST = """# The Rust library
[The guide](../docs/guide/rust.md) begins with a program. By rustdoc:

- <a href="../rust/towpath/index.html">crate <code>towpath</code></a>, with all features
"""
LANGUAGES = {".sv": "systemverilog", ".py": "python", ".rs": "rust", ".c": "c", ".cpp": "cpp", ".java": "java", ".m": "matlab"}


class SiteError(Exception):
    """The text says what is wrong, and where."""


def address(page: str) -> str:
    """Where a page is in the site's sources."""
    return page.removesuffix(".ipynb") + ".md" if page.endswith(".ipynb") else page


# --- what Sphinx reads ---------------------------------------------------------------------------------------------------------


class Staging:
    """A folder with the pages as Sphinx takes them, and with what they lead to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = sitepages.pages(ROOT)
        self.sources: set[str] = set()
        self.folders: set[str] = set()

    def write(self, name: str, text: str) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def place(self, path: str) -> str:
        """Where in the site a path of the repository is."""
        if path == HOME:
            return "index.md"
        if path in self.pages or path in sitepages.MADE:
            return address(path)
        there = ROOT / path
        if there.is_dir():
            if f"{path}/README.md" in self.pages:
                return f"{path}/README.md"
            self.folders.add(path)
            return f"sources/{path}/index.md"
        if not there.is_file():
            raise SiteError(f"a link leads to {path}, which is not there")
        if there.suffix in (".png", ".svg", ".jpg"):
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there, target)
            return path
        self.sources.add(path)
        return f"sources/{path}.md"

    def page(self, name: str) -> str:
        """A page's text with its links as the site needs them."""
        here = os.path.dirname("index.md" if name == HOME else name)

        def changed(target: str) -> str:
            led = sitepages.split(name, target)
            if led is None or target.startswith("#"):
                return target
            return os.path.relpath(self.place(led[0]), here or ".") + (f"#{led[1]}" if led[1] else "")

        text = self.notebook(name) if name.endswith(".ipynb") else (ROOT / name).read_text()
        return sitepages.relinked(text, changed)

    def notebook(self, name: str) -> str:
        """A notebook as a page: its text, its code, and the pictures that it was stored with."""
        parts = []
        for number, cell in enumerate(json.loads((ROOT / name).read_text())["cells"]):
            text = "".join(cell["source"])
            parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
            for output in cell.get("outputs", ()):
                if "image/png" not in output.get("data", {}):
                    raise SiteError(
                        f"{name}: cell {number} has an output of kind {output['output_type']}: only pictures can be shown; clear it"
                    )
                picture = f"{name}.{number}.png"
                (self.folder / picture).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / picture).write_bytes(base64.b64decode("".join(output["data"]["image/png"])))
                parts.append(f"```{{image}} {Path(picture).name}\n```")
        return "\n\n".join(parts) + "\n"

    def fill(self, sections: list[Section]) -> None:
        self.write("conf.py", SETTINGS.replace("@VERSION@", clibrary.version()))
        for name in self.pages:
            if name != HOME:
                self.write(address(name), self.page(name))
        self.write("reference/c.md", sitereference.c_page())
        self.write("reference/python.md", sitereference.python_page())
        self.write("reference/rust.md", RUST)
        trees = [
            f"```{{toctree}}\n:hidden:\n:caption: {s.title}\n\n" + "\n".join(address(p).removesuffix(".md") for p in s.pages) + "\n```"
            for s in sections
        ]
        self.write("index.md", self.page(HOME) + "\n" + "\n\n".join(trees) + "\n")
        for path in sorted(self.folders):
            below = [page for page in self.pages if page.startswith(f"{path}/")]
            lines = [f"- [{page}]({os.path.relpath(page, f'sources/{path}')})" for page in below]
            self.write(
                f"sources/{path}/index.md", "\n".join(["---", "orphan: true", "---", f"# `{path}/`", "Pages below it:", "", *lines, ""])
            )
        for path in sorted(self.sources):
            text = (ROOT / path).read_text()
            fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 3)
            head = ["---", "orphan: true", "---", f"# `{path}`", f"{fence}{LANGUAGES.get(Path(path).suffix, 'text')}"]
            self.write(f"sources/{path}.md", "\n".join([*head, text.rstrip("\n"), fence, ""]))


# --- ./run docs ----------------------------------------------------------------------------------------------------------------


def logged(name: str, command: list[str], variables: dict[str, str]) -> None:
    log = OUT / f"log/{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    if done.returncode:
        said = log.read_text().splitlines()
        told = [line for line in said if re.search(r"warning|error", line, re.IGNORECASE)] or said
        raise SiteError("\n".join([f"{command[0]} failed; {log.relative_to(ROOT)}:", *told[-25:]]))


def rust_reference(folder: Path) -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", OUT / "target"))
    shutil.rmtree(target / "doc", ignore_errors=True)  # or pages of what is gone would be copied, too
    command = ["cargo", "doc", "--locked", "--no-deps", "--all-features", "--package=towpath", "--manifest-path=host/Cargo.toml"]
    logged("docs-rust", command, {"RUSTDOCFLAGS": "-D warnings"})
    shutil.copytree(target / "doc", folder)


def build(output: Path, rust: bool) -> None:
    """Leaves the site in `output`, whole, or what was there before."""
    sections, wrong = sitepages.sections(ROOT, sitepages.pages(ROOT))
    if wrong:
        raise SiteError("\n".join(wrong))
    scratch = OUT / "docs-work"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    Staging(scratch / "source").fill(sections)
    made = scratch / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(scratch / "read")]
    logged("docs-site", [*command, str(scratch / "source"), str(made)], {})
    if rust:
        print("docs: the Rust reference, by cargo doc", flush=True)
        rust_reference(made / "rust")
    if found := sitelinks.broken(made, rust):
        raise SiteError("\n".join(found))
    (made / sitepages.MARK).touch()
    if output.exists():
        shutil.rmtree(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, output)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run docs", description="Build the documentation as a site.")
    parser.add_argument("--output", type=Path, default=OUT / "site", help="the folder that it goes to, which is replaced: .towpath/site")
    parser.add_argument("--no-rust", action="store_true", help="without the Rust reference, which compiles the library's dependencies")
    options = parser.parse_args(arguments)
    output = options.output.resolve()
    if not sitepages.may_replace(output):
        parser.error(f"{output} is there and is no site of this command's, and would be replaced: remove it, or name another folder")
    print("docs: the pages, by Sphinx", flush=True)
    try:
        build(output, not options.no_rust)
    except (SiteError, clibrary.BuildError, sitereference.manpages.PageError, OSError, subprocess.SubprocessError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    print(f"docs: {sum(1 for _ in output.rglob('*.html'))} pages; open {output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
