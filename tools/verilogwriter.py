# SPDX-License-Identifier: Apache-2.0
"""Prints elaborated SystemVerilog modules as Verilog-2005 (IEEE 1364-2005) that people can read.

slang elaborates; `Design` finds the modules, one for each set of parameters, and `Writer` prints one of them: the same names of modules,
signals and blocks in the same order, with the source's comments. What Verilog does not have is rewritten:

  structures, packed arrays     vectors; a field is a part select, with the field's name in a comment
  enumerations, packages        local parameters, in each module that uses them
  casts                         part selects, concatenations, or a small function where neither can be written
  always_ff, always_comb        always
  generate                      a loop whose iterations print alike stays one, another is unrolled; of an `if` the branch taken
  assertions                    left out

What the sources do not use is not handled: `Unsupported` names the place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyslang import ast
from verilogexpr import (
    Expr,
    Expressions,
    Kind,
    Unsupported,
    is_place,
    members,
    packed_range,
    root_of,
    self_width,
    strip,
    visit,
    width_of,
)

Stmt = ast.StatementKind
WIDE = 132  # a line is wrapped before this column


class Comments:
    """Where the comments of a source are: above a line, or behind it."""

    def __init__(self, text: str):
        self.lines = text.splitlines()
        self.behind: dict[int, str] = {}
        self.own: dict[int, str] = {}
        for n, line in enumerate(self.lines, 1):
            found = re.match(r'((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*)(//.*)', line)
            if found and "verilator" not in found[2]:
                (self.behind if found[1].strip() else self.own)[n] = found[2].rstrip()

    def head(self) -> list[str]:
        """The comment with which the file begins, without its licence, which every file has."""
        found: list[str] = []
        while (n := len(found) + 2) in self.own:
            found.append(self.own[n])
        return found

    def above(self, line: int) -> list[int]:
        first = line
        while first - 1 in self.own or (first - 1 >= 1 and "verilator" in self.lines[first - 2]):
            first -= 1
        return [n for n in range(first, line) if n in self.own]


@dataclass
class Module:
    """A module with its parameters resolved."""

    body: Any
    parameters: str
    name: str = ""
    text: str = ""


@dataclass
class Design:
    """All modules below a top, in the order in which the top reaches them. Of `foreign` modules instances are written, and nothing else."""

    compilation: Any
    top: Any
    foreign: frozenset[str] = frozenset()
    modules: dict[tuple[str, str], Module] = field(default_factory=dict)
    sources: dict[str, Comments] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._find(self.top)
        names = [name for name, _ in self.modules]
        for (name, _), module in self.modules.items():
            same = [m for (n, _), m in self.modules.items() if n == name]
            module.name = name if len(same) == 1 else f"{name}_{same.index(module) + 1}"
        if taken := {m.name for m in self.modules.values() if m.name in names and m.body.definition.name != m.name}:
            raise Unsupported(f"modules whose names end in a number: {', '.join(taken)}")
        for module in self.modules.values():
            module.text = Writer(self, module).write()

    def key(self, body: Any) -> tuple[str, str]:
        return body.definition.name, ", ".join(f"{p.name} {p.value}" for p in body.parameters)

    def _find(self, instance: Any) -> None:
        key = self.key(instance.body)
        if key in self.modules or instance.definition.name in self.foreign:
            return
        self.modules[key] = Module(instance.body, key[1])
        for member in members(instance.body):
            if member.kind == Kind.Instance:
                self._find(member)

    def comments(self, location: Any) -> Comments:
        manager = self.compilation.sourceManager
        # What a macro makes stands where the macro is used.
        name = str(manager.getFullPath(manager.getFullyExpandedLoc(location).buffer))
        if name not in self.sources:
            self.sources[name] = Comments(Path(name).read_text())
        return self.sources[name]

    def line(self, location: Any) -> int:
        manager = self.compilation.sourceManager
        return int(manager.getLineNumber(manager.getFullyExpandedLoc(location)))


class Writer(Expressions):
    """Prints one module."""

    def __init__(self, design: Design, module: Module):
        super().__init__(module.body)
        self.design, self.module = design, module
        self.used_comments: set[int] = set()
        self.genvars: list[str] = []
        self.result = ""  # of the function that is printed
        self.regs = self._procedural()

    # ---- symbols

    def _procedural(self) -> set[str]:
        """The variables that processes assign."""
        found = set()
        for member in members(self.module.body):
            if member.kind == Kind.ProceduralBlock:
                for node in visit(member.body, Expr.Assignment):
                    found |= {s.hierarchicalPath for s in root_of(node.left)}
            if member.kind == Kind.Variable and member.initializer is not None:
                found.add(member.hierarchicalPath)
        return found

    def _is_reg(self, symbol: Any) -> bool:
        return symbol.hierarchicalPath in self.regs

    # ---- comments

    def _above(self, location: Any, indent: str) -> list[str]:
        if not location:
            return []
        comments = self.design.comments(location)
        lines = [n for n in comments.above(self.design.line(location)) if n not in self.used_comments]
        self.used_comments.update(lines)
        return [f"{indent}{comments.own[n]}" for n in lines]

    def _blank(self, location: Any) -> list[str]:
        """An empty line where the source has one above this place and its comments."""
        if not location:
            return []
        comments, line = self.design.comments(location), self.design.line(location)
        first = min([*comments.above(line), line])
        return [""] if first > 1 and not comments.lines[first - 2].strip() else []

    def _behind(self, location: Any) -> str:
        if not location:
            return ""
        comments, line = self.design.comments(location), self.design.line(location)
        if line in self.used_comments or line not in comments.behind:
            return ""
        self.used_comments.add(line)
        return "  " + comments.behind[line]

    def _start(self, node: Any) -> Any:
        """Where a symbol's or statement's text begins in the source, if it stands there."""
        syntax = getattr(node, "syntax", None)
        if syntax is None:
            return None
        while syntax.kind.name in ("Declarator", "HierarchicalInstance") and syntax.parent is not None:
            syntax = syntax.parent
        return syntax.sourceRange.start

    # ---- statements

    def statement(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        """The lines of a statement; `keeps` collects the variables that its block must declare."""
        method = getattr(self, f"_do_{node.kind.name}", None)
        if method is None:
            raise self.unsupported(node)
        lines = method(node, indent, keeps)
        if not lines or node.kind in (Stmt.List, Stmt.Block):
            return lines
        start = node.sourceRange.start
        lines[0] += self._behind(start) if "//" not in lines[0] else ""
        return [*self._above(start, indent), *lines]

    def _do_List(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        lines: list[str] = []
        statements = list(node.list)
        for n, each in enumerate(statements):
            rest = statements[n + 1 :]
            if rest and each.kind == Stmt.Conditional and each.ifFalse is None and ends_in_return(each.ifTrue):
                # What follows a return is what happens otherwise.
                return [*lines, *self._conditional(each, indent, keeps, rest)]
            loop = rest and rest[0].kind == Stmt.ForLoop
            if loop and each.kind == Stmt.VariableDeclaration and each.symbol in list(rest[0].loopVars):
                continue  # the loop declares it
            lines += self.statement(each, indent, keeps)
        return lines

    def _do_Block(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        return self.statement(node.body, indent, keeps)

    def _do_Empty(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        return []

    _do_ImmediateAssertion = _do_Empty

    def _do_VariableDeclaration(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        symbol = node.symbol
        kind = symbol.type.canonicalType
        words = "integer" if kind.isPredefinedInteger and width_of(kind) == 32 else f"reg {packed_range(kind)}".rstrip()
        if keeps.setdefault(symbol.name, words) != words:
            raise self.unsupported(node, f"another {symbol.name} in the same process")
        if symbol.initializer is None:
            return []
        return [f"{indent}{symbol.name} = {self.text(symbol.initializer)};"]

    def _do_ExpressionStatement(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        if node.expr.kind == Expr.Call and str(node.expr.subroutineName) in ("$readmemh", "$readmemb"):
            return self.wrap(f"{indent}{self._reads(node.expr)};")
        return self.wrap(f"{indent}{self._assignment(node.expr)};")

    def _reads(self, expr: Any) -> str:
        name, *rest = expr.arguments
        named = name.eval(self.context).convertToStr().value
        if not isinstance(named, str):
            raise self.unsupported(name, f"{expr.subroutineName} with a computed name")
        # slang shows an argument that is written as an assignment to it.
        places = [each.left if each.kind == Expr.Assignment else each for each in rest]
        return f'{expr.subroutineName}("{named}", {", ".join(map(self.text, places))})'

    def _assignment(self, expr: Any) -> str:
        if expr.kind == Expr.UnaryOp and expr.op.name in ("Postincrement", "Preincrement", "Postdecrement", "Predecrement"):
            name = self.text(expr.operand)
            return f"{name} = {name} {'+' if 'increment' in expr.op.name else '-'} 1"
        if expr.kind != Expr.Assignment:
            raise self.unsupported(expr)
        self.target = self.text(expr.left)
        sign = "<=" if expr.isNonBlocking else "="
        return f"{self.target} {sign} {self.assigned(expr.right, width_of(expr.left.type))}"

    def assigned(self, expr: Any, width: int) -> str:
        """The right side of an assignment, which itself drops the upper bits that a cast there would drop."""
        inner = strip(expr)
        if inner.kind == Expr.Conversion and width_of(inner.type) == width and self.value(inner) is None:
            operand = strip(inner.operand)
            if self_width(operand) >= width and not is_place(operand):
                return self.text(operand)
        return self.unsigned(inner)[0] if self_width(inner) >= width else self.text(inner)

    def _do_Conditional(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        return self._conditional(node, indent, keeps, [])

    def _conditional(self, node: Any, indent: str, keeps: dict[str, str], rest: list[Any]) -> list[str]:
        """`rest` is what happens otherwise, where the source has no else."""
        (condition,) = node.conditions
        lines = self.wrap(f"{indent}if ({self.text(condition.expr)}) begin")
        lines[-1] += self._behind(node.sourceRange.start)
        body = self.statement(node.ifTrue, indent + "  ", keeps)
        if node.ifFalse is not None and node.ifFalse.kind == Stmt.Conditional:
            if below := self._conditional(node.ifFalse, indent, keeps, []):
                return [*lines, *body, f"{indent}end else {below[0].lstrip()}", *below[1:]]
        elif node.ifFalse is not None:
            rest = [node.ifFalse]
        below = [line for each in rest for line in self.statement(each, indent + "  ", keeps)]
        if below:
            return [*lines, *body, f"{indent}end else begin", *below, f"{indent}end"]
        return self._short(lines, body, indent) if body else []

    def _short(self, head: list[str], body: list[str], indent: str) -> list[str]:
        """A block of one statement needs no `begin` where nothing follows that it could take for its own."""
        if len(head) == len(body) == 1 and head[0].endswith(" begin"):
            line = f"{head[0][: -len(' begin')]} {body[0].strip()}"
            if len(line) <= WIDE:
                return [line]
        return [*head, *body, f"{indent}end"]

    def _do_Case(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        word = {"Normal": "case", "WildcardJustZ": "casez", "WildcardXOrZ": "casex"}.get(node.condition.name)
        if word is None:
            raise self.unsupported(node, f"case {node.condition.name}")
        lines = [f"{indent}{word} ({self.text(node.expr)})"]
        for item in node.items:
            labels = ", ".join(self.unsigned(e)[0] for e in item.expressions)
            lines += self._branch(labels, item.stmt, indent + "  ", keeps)
        if node.defaultCase is not None:
            lines += self._branch("default", node.defaultCase, indent + "  ", keeps)
        return [*lines, f"{indent}endcase"]

    def _branch(self, label: str, body: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        above, behind = self._above(body.sourceRange.start, indent), ""
        lines = self.statement(body, indent + "  ", keeps)
        if len(lines) == 1 and len(label) + len(lines[0]) < WIDE:
            return [*above, f"{indent}{label}: {lines[0].strip()}{behind}"]
        return [*above, *self.wrap(f"{indent}{label}: begin"), *lines, f"{indent}end"]

    def _do_ForLoop(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        first = []
        for variable in node.loopVars:
            if not (variable.type.canonicalType.isPredefinedInteger and width_of(variable.type) == 32):
                raise self.unsupported(node, "a loop whose variable is not an int")
            if keeps.setdefault(variable.name, "integer") != "integer":
                raise self.unsupported(node, f"another {variable.name} in the same process")
            first.append(f"{variable.name} = {self.text(variable.initializer)}")
        first += [self._assignment(e) for e in node.initializers]
        steps = [self._assignment(e) for e in node.steps]
        if len(first) != 1 or len(steps) != 1:
            raise self.unsupported(node, "a loop with other than one variable")
        lines = self.wrap(f"{indent}for ({first[0]}; {self.text(node.stopExpr)}; {steps[0]}) begin")
        body = self.statement(node.body, indent + "  ", keeps)
        return self._short(lines, body, indent) if body else []

    def _do_Return(self, node: Any, indent: str, keeps: dict[str, str]) -> list[str]:
        return self.wrap(f"{indent}{self.result} = {self.text(node.expr)};")

    def wrap(self, line: str) -> list[str]:
        """A line, broken at blanks where it is too long."""
        if len(line) <= WIDE:
            return [line]
        indent = line[: len(line) - len(line.lstrip())] + "    "
        lines = []
        while len(line) > WIDE and (at := line.rfind(" ", len(indent) + 1, WIDE)) > 0:
            while at > 0 and inside_comment(line, at):
                at = line.rfind(" ", len(indent) + 1, at)
            if at <= 0:
                break
            lines.append(line[:at].rstrip())
            line = indent + line[at + 1 :]
        return [*lines, line]

    # ---- members

    def block(self, head: str, body: list[str], keeps: dict[str, str], name: str, indent: str) -> list[str]:
        """A process: with a named block if it has variables."""
        if not keeps:
            return self._short([f"{indent}{head} begin"], body, indent)
        declared = [f"{indent}  {words} {variable};" for variable, words in keeps.items()]
        return [f"{indent}{head} begin : {name}", *declared, *body, f"{indent}end"]

    def _process(self, symbol: Any, indent: str) -> list[str]:
        kind, body = symbol.procedureKind.name, symbol.body
        if kind == "AlwaysComb":
            head = "always @*"
            written = [n for each in visit(body, Expr.Assignment) for n in visit(each.left, Expr.NamedValue)]
            if len(self._signals(visit(body, Expr.NamedValue))) == len(self._signals(written)):  # `always @*` would never run
                raise self.unsupported(symbol, "always_comb that reads nothing")
        elif kind in ("AlwaysFF", "Always") and body.kind == Stmt.Timed:
            head, body = f"always @({self._timing(body.timing)})", body.stmt
        elif kind == "Initial":
            head = "initial"
        else:
            raise self.unsupported(symbol, kind)
        keeps: dict[str, str] = {}
        self.clocked = kind in ("AlwaysFF", "Initial")
        lines = self.statement(body, indent + "  ", keeps)
        self.clocked = False
        if not lines:
            return []
        number_ = self.design.line(symbol.location) if symbol.location else 0
        return self.block(head, lines, keeps, f"p_{number_ or len(self.genvars)}", indent)

    def _signals(self, named: list[Any]) -> list[Any]:
        return [n for n in named if n.symbol.kind in (Kind.Net, Kind.Variable) and not n.symbol.parentScope.isProceduralContext]

    def _timing(self, timing: Any) -> str:
        if timing.kind.name == "EventList":
            return " or ".join(self._timing(e) for e in timing.events)
        if timing.kind.name != "SignalEvent" or timing.iffCondition is not None:
            raise Unsupported(f"a timing control of kind {timing.kind.name}")
        edge = {"PosEdge": "posedge ", "NegEdge": "negedge ", "None_": ""}[timing.edge.name]
        return f"{edge}{self.text(timing.expr)}"

    def _function(self, symbol: Any, indent: str) -> list[str]:
        if symbol.subroutineKind.name != "Function" or symbol.returnType.isVoid:
            raise self.unsupported(symbol, "a task or a function without a result")
        self.result = symbol.name
        keeps: dict[str, str] = {}
        body = self.statement(symbol.body, indent + "    ", keeps)
        kind = symbol.returnType.canonicalType
        words = "integer " if kind.isPredefinedInteger and width_of(kind) == 32 else packed_range(kind)
        lines = [f"{indent}function {words}{symbol.name};"]
        for argument in symbol.arguments:
            of = argument.type.canonicalType
            words = "integer " if of.isPredefinedInteger and width_of(of) == 32 else packed_range(of)
            lines.append(f"{indent}  input {words}{argument.name};")
        lines += [f"{indent}  {words} {name};" for name, words in keeps.items() if name != symbol.name]
        return [*lines, f"{indent}  begin", *body, f"{indent}  end", f"{indent}endfunction"]

    def _variable(self, symbol: Any, indent: str) -> list[str]:
        kind, dims = symbol.type.canonicalType, ""
        while kind.isUnpackedArray:
            dims += f" [{kind.range.left}:{kind.range.right}]"
            kind = kind.arrayElementType.canonicalType
        attributes = self.design.compilation.getAttributes(symbol)
        marks = "".join(f"{self._mark(a)} " for a in attributes)
        if kind.isPredefinedInteger and width_of(kind) == 32:
            words = "integer "
        else:
            words = ("reg " if self._is_reg(symbol) or dims else "wire ") + packed_range(kind)
        first = f" = {self.assigned(symbol.initializer, width_of(kind))}" if symbol.initializer is not None else ""
        alias = f"  // {symbol.type.name}" if symbol.type.isAlias and symbol.type.canonicalType.isStruct else ""
        return self.wrap(f"{indent}{marks}{words}{symbol.name}{dims}{first};{alias}")

    def _mark(self, attribute: Any) -> str:
        """An attribute with a string comes from slang as its bits."""
        value = attribute.value.value
        if isinstance(value, str):
            text = value
        else:
            bits = width_of(value) if hasattr(value, "canonicalType") else value.bitWidth
            raw = int(value).to_bytes(max(1, (bits + 7) // 8), "big")
            if not raw or not all(31 < b < 127 for b in raw):
                return f"(* {attribute.name} *)"
            text = raw.decode("ascii")
        more = STYLES.get(text, "") if attribute.name == "ram_style" else ""
        return f'(* {attribute.name} = "{text}"{more} *)'

    def _assign(self, symbol: Any, indent: str) -> list[str]:
        left, right = symbol.assignment.left, symbol.assignment.right
        text = f"{self.text(left)} = {self.assigned(right, width_of(left.type))};"
        if any(self._is_reg(s) for s in root_of(left)):
            if self.value(right) is not None:  # `always @*` would never run
                raise self.unsupported(left, "a constant part of a variable whose other parts a process assigns")
            return self.wrap(f"{indent}always @* {text}")
        return self.wrap(f"{indent}assign {text}")

    def _instance(self, symbol: Any, indent: str) -> list[str]:
        name = symbol.definition.name
        values = []
        if name in self.design.foreign:
            values = [f".{p.name}({p.value})" for p in symbol.body.parameters if p.isOverridden]
        else:
            name = self.design.modules[self.design.key(symbol.body)].name
        pins = []
        for pin in symbol.portConnections:
            expr = pin.expression
            if expr is None:
                pins.append(f".{pin.port.name}()")
                continue
            if expr.kind == Expr.Assignment:
                expr = expr.left
                if any(self._is_reg(s) for s in root_of(expr)):
                    raise self.unsupported(symbol, f"a process also assigns what port {pin.port.name} drives: it")
                if any(s.type.canonicalType.isUnpackedArray for s in root_of(expr)):
                    raise self.unsupported(symbol, f"a memory's word that port {pin.port.name} drives")
            pins.append(f".{pin.port.name}({self.text(expr)})")

        def listed(entries: list[str]) -> list[str]:
            return [line for n, e in enumerate(entries) for line in self.wrap(f"{indent}    {e}{',' if n < len(entries) - 1 else ''}")]

        head = [f"{indent}{name} #(", *listed(values), f"{indent}) {symbol.name} ("] if values else [f"{indent}{name} {symbol.name} ("]
        return [*head, *listed(pins), f"{indent});"]

    def _scope(self, scope: Any, indent: str) -> list[str]:
        lines: list[str] = []
        for member in scope:
            lines += self._member(member, indent)
        return lines

    def _member(self, member: Any, indent: str) -> list[str]:
        kind = member.kind
        if kind == Kind.GenerateBlock:
            return self._generate(member, indent)
        if kind == Kind.GenerateBlockArray:
            return self._generate_loop(member, indent)
        plain = {
            Kind.Variable: self._variable,
            Kind.Net: self._variable,
            Kind.ContinuousAssign: self._assign,
            Kind.ProceduralBlock: self._process,
            Kind.Instance: self._instance,
            Kind.Subroutine: self._function,
            Kind.Parameter: self._localparam,
        }.get(kind)
        if plain is None:
            if kind in SILENT:
                return []
            raise self.unsupported(member)
        lines = plain(member, indent)
        if not lines:
            return []
        start = self._start(member)
        above = [*self._blank(start), *self._above(start, indent)]
        if "//" not in lines[0] and kind in (Kind.Variable, Kind.Net, Kind.Parameter, Kind.ContinuousAssign):
            lines[-1] += self._behind(member.location if kind != Kind.ContinuousAssign else start)
        if kind == Kind.Subroutine:
            return [f"{FUNCTION} {member.name}", *above, *lines, FUNCTION]
        return [*above, *lines]

    def _localparam(self, symbol: Any, indent: str) -> list[str]:
        if symbol.hierarchicalPath in self.loop_of:
            return []
        if self._is_symbolic(symbol):
            kind = symbol.type.canonicalType
            words = "integer " if kind.isPredefinedInteger else packed_range(kind)
            return [f"{indent}localparam {words}{symbol.name} = {self.text(symbol.initializer)};"]
        line = indent + self._declare(symbol)
        source = " ".join(str(symbol.initializer.syntax).split()) if symbol.initializer is not None and symbol.initializer.syntax else ""
        computed = re.search(r"[A-Z]{2}|\$", source) and len(source) <= 60 and symbol.isLocalParam
        return [f"{line}  // {source}" if computed else line]

    def _generate(self, block: Any, indent: str) -> list[str]:
        if block.isUninstantiated:
            return []
        start = self._start(block)
        above = [*self._blank(start), *self._above(start, indent)]
        body = self._scope(block, indent + "  ")
        if not body:
            return []
        return self._region([*above, f"{indent}if (1) begin : {block.externalName}", *body, f"{indent}end"], indent)

    def _region(self, lines: list[str], indent: str) -> list[str]:
        if indent != "  ":
            return lines
        return ["", f"{indent}generate", *[f"  {line}" if line else line for line in lines], f"{indent}endgenerate"]

    def _generate_loop(self, array: Any, indent: str) -> list[str]:
        if not array.entries:
            return []
        name, loop = array.externalName, str(array.hierarchicalPath)
        above = [*self._blank(self._start(array)), *self._above(self._start(array), indent)]
        texts, before = [], set(self.used_comments)
        self.kept.add(loop)
        for entry in array.entries:
            self.used_comments = set(before)
            texts.append(self._scope(entry, indent + "  "))
        indices = [int(str(entry.arrayIndex)) for entry in array.entries]
        if all(text == texts[0] for text in texts) and indices == list(range(indices[0], indices[0] + len(indices))):
            lines, variable = texts[0], array.loopVariable.name
            if lines:
                if variable not in self.genvars:
                    self.genvars.append(variable)
                count = f"{variable} = {indices[0]}; {variable} < {indices[-1] + 1}; {variable} = {variable} + 1"
                lines = [f"{indent}for ({count}) begin : {name}", *lines, f"{indent}end"]
        else:
            self.kept.discard(loop)
            self.used_comments, lines = before, []
            for index, entry in zip(indices, array.entries, strict=True):
                lines += [f"{indent}if (1) begin : {name}_{index}", *self._scope(entry, indent + "  "), f"{indent}end"]
        self.kept.discard(loop)
        return self._region([*above, *lines], indent) if lines else []

    # ---- the whole

    def _ports(self) -> list[str]:
        lines, ports = [], list(self.module.body.portList)
        for n, port in enumerate(ports):
            symbol, kind = port.internalSymbol, port.type.canonicalType
            word = {"In": "input", "Out": "output"}.get(port.direction.name)
            if word is None or kind.isUnpackedArray:
                raise self.unsupported(port)
            store = "reg" if word == "output" and self._is_reg(symbol) else "wire"
            alias = f"  // {port.type.name}" if port.type.isAlias and kind.isStruct else ""
            above = self._above(self._start(port) or port.location, "    ")
            lines += [*above, f"    {word} {store} {packed_range(kind)}{port.name}{',' if n < len(ports) - 1 else ''}"]
            lines[-1] += self._behind(port.location) or alias
        return lines

    def write(self) -> str:
        body = self.module.body
        comments = self.design.comments(body.location)
        ports = self._ports()
        listed = {p.internalSymbol.hierarchicalPath for p in body.portList}
        lines: list[str] = []
        for member in body:
            if member.kind == Kind.Port or member.hierarchicalPath in listed:
                continue
            lines += self._member(member, "  ")
        declared = [f"  {text}" for text in self.packaged.values()]
        declared += [f"  genvar {name};" for name in self.genvars]
        head = [SPDX, *comments.head()]
        if self.module.name != body.definition.name:
            head += [f"// {body.definition.name} with {self.module.parameters}" if self.module.parameters else ""]
        text = [*head, "`default_nettype none", f"module {self.module.name} (", *ports, ");", *declared]
        text += ["\n".join(self.helpers.values())] if self.helpers else []
        text += [*used_functions(lines, self.functions), "endmodule", "`default_nettype wire"]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(text)) + "\n"


SPDX = "// SPDX-License-Identifier: Apache-2.0"
# What other tools call a `ram_style`. One for which a family has no such memory, or which a tool does not know, is a warning at most.
STYLES = {"block": ', syn_ramstyle = "block_ram"', "distributed": ', ramstyle = "MLAB", syn_ramstyle = "select_ram"'}
FUNCTION = "\0function"
SILENT = (
    Kind.Genvar,
    Kind.TypeAlias,
    Kind.TransparentMember,
    Kind.StatementBlock,
    Kind.ElabSystemTask,
    Kind.WildcardImport,
    Kind.ExplicitImport,
    Kind.EmptyMember,
)


def inside_comment(line: str, at: int) -> bool:
    return line.rfind("/*", 0, at) > line.rfind("*/", 0, at)


def ends_in_return(node: Any) -> bool:
    if node.kind == Stmt.Block:
        return ends_in_return(node.body)
    if node.kind == Stmt.List:
        return bool(node.list) and ends_in_return(node.list[-1])
    return node.kind == Stmt.Return


def used_functions(lines: list[str], called: set[str]) -> list[str]:
    """Without the functions that only constants were computed with."""
    kept, name = [], ""
    for line in lines:
        if line.startswith(FUNCTION):
            name = line[len(FUNCTION) :].strip()
        elif not name or name in called:
            kept.append(line)
    return kept
