# SPDX-License-Identifier: Apache-2.0
"""The pages of the C and the Python reference, in MyST's Markdown: what towpath.h and the Python package's sources declare and say.

Nothing is compiled or imported for them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import griffe
import manpages

ROOT = Path(__file__).resolve().parent.parent


def directive(kind: str, signature: str, body: str, *options: str) -> str:
    """One of Sphinx's, within a fence that is longer than any in its body."""
    longest = max((len(ticks) for ticks in re.findall(r"^`{3,}", body, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join([f"{fence}{{{kind}}} {signature}", *options, "", body.strip(), fence, ""])


# --- C -------------------------------------------------------------------------------------------------------------------------


def c_kind(item: manpages.Item) -> str:
    if item.text.startswith("#define"):
        return "macro"
    if item.is_function:
        return "function"
    return {"typedef struct": "struct", "typedef enum": "enum"}.get(item.text.rpartition(" ")[0], "type") if item.members else "type"


def c_text(text: str, kinds: dict[str, str]) -> str:
    """What a comment says, with the names of the library linked."""

    def linked(name: re.Match[str]) -> str:
        kind = kinds.get(name[1])
        return f"{{c:{'func' if kind == 'function' else kind}}}`{name[1]}`" if kind else name[0]

    parts = re.split(r"(`[^`]*`)", text)
    named = [part if part.startswith("`") else re.sub(r"\b(towpath_\w+|TOWPATH_\w+)\b(?:\(\))?", linked, part) for part in parts]
    return "".join(f"`{part}`" if part.startswith("http") else part for part in named)


def c_page() -> str:
    header = manpages.HEADER.read_text()
    items = manpages.read(header)
    pages = tomllib.loads((manpages.SOURCES / "pages.toml").read_text())["page"]
    kinds = {name: c_kind(item) for name, item in items.items()}
    for item in items.values():
        if kinds[item.name] == "enum":
            kinds |= {declaration.split(" ")[0]: "enumerator" for declaration, _ in item.members}
    begin = re.search(r"/\* Generated [^\n]*\n \*\n(.*?) \*/", header, re.DOTALL)
    intro = manpages.plain(begin[1]) if begin else ""
    parts = [
        "# The C library",
        "This page is made from `towpath.h`; [the guide](../docs/guide/c.md) begins with a program.",
        c_text(intro, kinds),
    ]
    for page in pages:
        parts.append(f"## {page['about'][0].upper()}{page['about'][1:]}")
        parts += [c_item(items[name], kinds) for name in (*page["functions"], *page["types"])]
    return "\n\n".join(parts) + "\n"


def c_item(item: manpages.Item, kinds: dict[str, str]) -> str:
    kind = kinds[item.name]
    body = c_text(item.about, kinds)
    if kind == "macro":
        return directive("c:macro", item.name, f"`{item.text}`\n\n{body}")
    inner = {"struct": "member", "enum": "enumerator"}.get(kind)
    for declaration, about in item.members if inner else ():
        body += "\n\n" + directive(f"c:{inner}", declaration, c_text(about, kinds))
    signature = item.text if kind == "function" else item.name
    if kind == "type":
        signature = re.sub(r"^typedef ", "", item.text)
    return directive(f"c:{kind}", signature, body)


# --- Python --------------------------------------------------------------------------------------------------------------------


def shown(member: griffe.Object | griffe.Alias) -> bool:
    """Is it for programs: a public name, or an operator that the class defines with a text of its own?"""
    name = member.name
    return not name.startswith("_") or (name.startswith("__") and name != "__init__" and member.docstring is not None)


def default(text: object) -> str:
    return str(text).replace("\n", " ")


def signature(function: griffe.Function | griffe.Alias) -> str:
    parts: list[str] = []
    star = False
    parameters = list(function.parameters)
    if parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    for number, parameter in enumerate(parameters):
        kind = parameter.kind
        if kind is griffe.ParameterKind.keyword_only and not star:
            parts.append("*")
            star = True
        prefix = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        star = star or prefix == "*"
        text = prefix + parameter.name
        text += f": {default(parameter.annotation)}" if parameter.annotation is not None else ""
        text += f" = {default(parameter.default)}" if parameter.default is not None and not prefix else ""
        parts.append(text)
        following = parameters[number + 1 :]
        if kind is griffe.ParameterKind.positional_only and not any(p.kind is griffe.ParameterKind.positional_only for p in following):
            parts.append("/")
    result = f" -> {default(function.returns)}" if function.returns is not None else ""
    return f"{function.name}({', '.join(parts)}){result}"


def doc(thing: griffe.Object | griffe.Alias) -> str:
    return thing.docstring.value if thing.docstring is not None else ""


def overloads(holder: griffe.Object | griffe.Alias, function: griffe.Function | griffe.Alias) -> list[griffe.Function]:
    return list(function.overloads or getattr(holder, "overloads", {}).get(function.name) or [])


def function(kind: str, holder: griffe.Object | griffe.Alias, one: griffe.Function | griffe.Alias) -> str:
    several = overloads(holder, one)
    texts = [doc(each) for each in (one, *several)]
    *others, last = several or [one]
    before = [directive(kind, signature(each), "", ":no-index:") for each in others]
    return "".join([*before, directive(kind, signature(last), next((text for text in texts if text), ""))])


def members(cls: griffe.Class | griffe.Alias) -> list[str]:
    found = cls.members if cls.name.endswith("Error") and cls.name != "Error" else {**cls.inherited_members, **cls.members}
    parts = []
    for name, member in found.items():
        if not shown(member) or (member.is_alias and not member.inherited):
            continue
        if member.is_function:
            parts.append(function("py:method", member.parent or cls, member))
        elif member.is_attribute:
            kind = "py:property" if "property" in member.labels else "py:attribute"
            # Not in the index: an annotation `bytes` would lead to a member of that name.
            lines = [":no-index:", *([f":type: {default(member.annotation)}"] if member.annotation is not None else [])]
            parts.append(directive(kind, name, doc(member), *lines))
    return parts


def python_page() -> str:
    package = griffe.load(
        "towpath", search_paths=[str(ROOT / "bindings/python/python")], allow_inspection=False, resolve_aliases=True, resolve_external=False
    )
    public = [name.strip("\"'") for name in package.exports or []]
    functions = [package[name] for name in public if package[name].is_function]
    classes = [package[name] for name in public if package[name].is_class]
    errors = [cls for cls in classes if cls.name.endswith("Error")]
    values = [cls for cls in classes if cls.canonical_path.startswith("towpath._types.")]
    acting = [cls for cls in classes if cls not in errors and cls not in values]
    parts = ["# The Python package", "This page is made from the package's sources.", doc(package), "```{py:module} towpath\n```"]
    parts += ["## Functions", *(function("py:function", package, one) for one in functions)]
    for title, group in (("Classes", acting), ("Values", values), ("Exceptions", errors)):
        parts.append(f"## {title}")
        for cls in group:
            kind = "py:exception" if cls in errors else "py:class"
            bases = ", ".join(str(base).split(".")[-1] for base in cls.bases)
            about = f"Of {bases}.\n\n" if cls in errors else ""
            body = "\n\n".join([about + doc(cls), *members(cls)])
            parts += [f"### {cls.name}", directive(kind, cls.name, body)]
    return "\n\n".join(parts) + "\n"
