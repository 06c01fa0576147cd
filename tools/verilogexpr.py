# SPDX-License-Identifier: Apache-2.0
"""Expressions of an elaborated SystemVerilog module as Verilog-2005: see verilogwriter.py.

slang gives each expression its width and makes every conversion explicit. Verilog makes most of them by itself, by the same rules; those
that it would not make are written as part selects, concatenations or small functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyslang
from pyslang import ast

Kind, Expr = ast.SymbolKind, ast.ExpressionKind

BINARY = {
    "Power": ("**", 13),
    "Multiply": ("*", 12),
    "Divide": ("/", 12),
    "Mod": ("%", 12),
    "Add": ("+", 11),
    "Subtract": ("-", 11),
    "LogicalShiftLeft": ("<<", 10),
    "LogicalShiftRight": (">>", 10),
    "ArithmeticShiftLeft": ("<<<", 10),
    "ArithmeticShiftRight": (">>>", 10),
    "LessThan": ("<", 9),
    "LessThanEqual": ("<=", 9),
    "GreaterThan": (">", 9),
    "GreaterThanEqual": (">=", 9),
    "Equality": ("==", 8),
    "Inequality": ("!=", 8),
    "CaseEquality": ("===", 8),
    "CaseInequality": ("!==", 8),
    "BinaryAnd": ("&", 7),
    "BinaryXor": ("^", 6),
    "BinaryXnor": ("~^", 6),
    "BinaryOr": ("|", 5),
    "LogicalAnd": ("&&", 4),
    "LogicalOr": ("||", 3),
}
UNARY = {
    "Plus": "+",
    "Minus": "-",
    "BitwiseNot": "~",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "BitwiseNand": "~&",
    "BitwiseNor": "~|",
    "BitwiseXnor": "~^",
    "LogicalNot": "!",
}
CONDITIONAL, PREFIX, PRIMARY = 2, 14, 20
SHIFTS = {"<<", ">>", "<<<", ">>>", "**"}
RELATIONS = {"<", "<=", ">", ">=", "==", "!=", "===", "!==", "&&", "||"}


class Unsupported(Exception):
    """Something that has no rewriting here; the text names it and its place."""


@dataclass(frozen=True)
class Place:
    """A part of a vector, or all of it: `width` bits from the sum of `terms` and `offset` on."""

    base: str
    scalar: bool  # declared without a range
    low: int  # the lowest index of the declared range
    total: int
    offset: int
    width: int
    terms: tuple[str, ...] = ()
    name: str = ""  # of the field, for the comment
    constant: bool = False  # the base is a parameter

    def __str__(self) -> str:
        note = f" /* {self.name} */" if self.name else ""
        if not self.terms and self.offset == 0 and self.width == self.total:
            return self.base
        if self.scalar:
            raise Unsupported(f"a select of {self.base}, which has one bit")
        offset = self.offset + self.low
        if not self.terms:
            end = f":{offset}" if self.width > 1 else ""
            return f"{self.base}[{offset + self.width - 1}{end}]{note}"
        sum_ = " + ".join([*self.terms, *([str(offset)] if offset > 0 else [])]) + (f" - {-offset}" if offset < 0 else "")
        return f"{self.base}[{sum_}{f' +: {self.width}' if self.width > 1 else ''}]{note}"


def width_of(kind: Any) -> int:
    return int(kind.canonicalType.bitWidth)


def is_scalar(kind: Any) -> bool:
    return kind.canonicalType.isScalar


def packed_range(kind: Any) -> str:
    """How a vector of this type is declared, with a space behind; a vector of vectors is one that starts at 0."""
    kind = kind.canonicalType
    if is_scalar(kind):
        return ""
    signed = "signed " if kind.isSigned else ""
    if kind.isPackedArray and is_scalar(kind.arrayElementType):
        return f"{signed}[{kind.range.left}:{kind.range.right}] "
    return f"{signed}[{width_of(kind) - 1}:0] "


def lowest_index(kind: Any) -> int:
    kind = kind.canonicalType
    if kind.isPackedArray and is_scalar(kind.arrayElementType):
        if kind.range.left < kind.range.right:
            raise Unsupported(f"a vector with an ascending range: {kind}")
        return int(kind.range.right)
    return 0


def number(value: Any, width: int, signed: bool) -> str:
    """A literal with its width; without one for what has that of an integer."""
    if value.hasUnknown:
        return str(value.toString(pyslang.LiteralBase.Binary, True, 1 << 24))
    n = int(value)
    if signed and width == 32:
        return str(n)
    mark = "s" if signed else ""
    if n < 0:  # its bits: slang finds that such a number in decimals is too large
        return f"{width}'{mark}h{n + (1 << width):x}"
    if n > 9 and width > 32 or n > 999999:
        return f"{width}'{mark}h{n:x}"
    return f"{width}'{mark}d{n}"


def strip(expr: Any) -> Any:
    """Without the conversions that Verilog makes by itself."""
    while expr.kind == Expr.Conversion and expr.conversionKind != ast.ConversionKind.Explicit:
        expr = expr.operand
    return expr


def bare(expr: Any) -> Any:
    """Without a cast that only changes the sign."""
    return strip(expr.operand) if expr.kind == Expr.Conversion and self_width(expr.operand) == width_of(expr.type) else expr


def is_place(expr: Any) -> bool:
    return expr.kind in (Expr.NamedValue, Expr.ElementSelect, Expr.RangeSelect, Expr.MemberAccess)


def self_width(expr: Any) -> int:
    """The width that Verilog gives the expression as it is printed, when it stands alone."""
    expr = strip(expr)
    if expr.kind == Expr.UnaryOp:
        return self_width(expr.operand) if expr.op.name in ("Plus", "Minus", "BitwiseNot") else 1
    if expr.kind == Expr.BinaryOp:
        sign = BINARY[expr.op.name][0]
        if sign in RELATIONS:
            return 1
        return self_width(expr.left) if sign in SHIFTS else max(self_width(expr.left), self_width(expr.right))
    if expr.kind == Expr.ConditionalOp:
        return max(self_width(expr.left), self_width(expr.right))
    return width_of(expr.type)


def members(scope: Any) -> Iterator[Any]:
    """The members of a module, also those within its generate blocks, as far as they exist."""
    for member in scope:
        if member.kind == Kind.GenerateBlock and not member.isUninstantiated:
            yield from members(member)
        elif member.kind == Kind.GenerateBlockArray:
            for entry in member.entries:
                yield from members(entry)
        else:
            yield member


def visit(node: Any, kind: Any) -> list[Any]:
    """All nodes of a kind in a process, a function or an expression."""
    found: list[Any] = []
    node.visit(lambda n: found.append(n) if getattr(n, "kind", None) == kind else None)
    return found


def root_of(expr: Any) -> list[Any]:
    """The symbols that an assignment to this expression writes."""
    if expr.kind == Expr.Concatenation:
        return [symbol for part in expr.operands for symbol in root_of(part)]
    while expr.kind != Expr.NamedValue:
        expr = expr.operand if expr.kind == Expr.Conversion else expr.value
    return [expr.symbol]


class Expressions:
    """Prints the expressions of one module."""

    def __init__(self, body: Any):
        self.body = body
        self.kept: set[str] = set()  # loops whose variable is printed as such
        self.helpers: dict[str, str] = {}  # small functions for casts
        self.packaged: dict[str, str] = {}  # local parameters that come from packages
        self.functions: set[str] = set()  # that are called
        self.explicit = False  # conversions are printed that Verilog would make by itself in a wider context
        self.clocked = False  # within a process that waits for a clock
        self.target = ""  # what is assigned to
        self.context = ast.EvalContext(body)
        self.loop_of: dict[str, str] = {}  # the generate loop whose variable a parameter is
        self._find_loops(body)

    def unsupported(self, node: Any, what: str = "") -> Unsupported:
        location = node.location if hasattr(node, "location") else node.sourceRange.start
        manager = self.body.compilation.sourceManager
        location = manager.getFullyExpandedLoc(location)
        place = f"{manager.getFileName(location)}:{manager.getLineNumber(location)}"
        return Unsupported(f"{place}: {what or node.kind.name} has no rewriting")

    # ---- constants

    def _find_loops(self, scope: Any) -> None:
        for member in scope:
            if member.kind == Kind.GenerateBlockArray:
                for entry in member.entries:
                    self.loop_of[f"{entry.hierarchicalPath}.{member.loopVariable.name}"] = str(member.hierarchicalPath)
                    self._find_loops(entry)
            elif member.kind == Kind.GenerateBlock and not member.isUninstantiated:
                self._find_loops(member)

    def _is_symbolic(self, symbol: Any) -> bool:
        """The parameter is, or depends on, the variable of a loop that is kept."""
        if symbol.kind != Kind.Parameter or not self.kept:
            return False
        if loop := self.loop_of.get(symbol.hierarchicalPath):
            return loop in self.kept
        return symbol.initializer is not None and any(self._is_symbolic(n.symbol) for n in visit(symbol.initializer, Expr.NamedValue))

    def value(self, expr: Any) -> Any:
        """The value of a constant expression; None if it is none, or depends on a loop that is kept."""
        for named in visit(expr, Expr.NamedValue):
            if named.symbol.kind not in (Kind.Parameter, Kind.EnumValue) or self._is_symbolic(named.symbol):
                return None
        if visit(expr, Expr.Assignment):
            return None
        result = expr.eval(self.context).value
        return result if isinstance(result, pyslang.SVInt) else None

    def integer(self, expr: Any) -> int | None:
        result = self.value(expr)
        return None if result is None else int(result)

    def _parameter(self, symbol: Any) -> str:
        """The name of a constant, which is declared where needed."""
        if self.loop_of.get(symbol.hierarchicalPath, "kept") not in ("kept", *self.kept):
            return str(int(symbol.value.value))
        if symbol.declaringDefinition is None or symbol.kind == Kind.EnumValue:
            text = self._declare(symbol)
            if self.packaged.setdefault(symbol.name, text) != text:
                raise self.unsupported(symbol, f"another constant {symbol.name}")
        return str(symbol.name)

    def _declare(self, symbol: Any) -> str:
        kind, value = symbol.type.canonicalType, symbol.value.value
        if isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}:
            return f'localparam {symbol.name} = "{value}";'
        if not isinstance(value, pyslang.SVInt):
            raise self.unsupported(symbol, f"the constant {symbol.name}")
        words = "integer " if kind.isPredefinedInteger and width_of(kind) == 32 else packed_range(kind)
        return f"localparam {words}{symbol.name} = {number(value, width_of(kind), kind.isSigned)};"

    # ---- expressions

    def text(self, expr: Any) -> str:
        return self.rank(expr)[0]

    def operand(self, expr: Any, at_least: int) -> str:
        text, rank = self.rank(expr)
        signed = at_least > PREFIX and text.startswith("-")  # a sign before a sign
        return text if rank >= at_least and not signed else f"({text})"

    def rank(self, expr: Any) -> tuple[str, int]:
        """The text of an expression, and how tightly it binds."""
        if expr.kind == Expr.Conversion and expr.conversionKind != ast.ConversionKind.Explicit:
            if self.explicit and self_width(expr.operand) < width_of(expr.type):
                return self.cast(expr.operand, width_of(expr.type), expr.type.canonicalType.isSigned), PRIMARY
            return self.rank(expr.operand)
        if is_place(expr):
            return str(self.place(expr)), PRIMARY
        method = getattr(self, f"_{expr.kind.name}", None)
        if method is None:
            raise self.unsupported(expr)
        return method(expr)

    def _IntegerLiteral(self, expr: Any) -> tuple[str, int]:
        text = str(expr.syntax).strip() if expr.syntax is not None else ""
        plain = re.fullmatch(r"[0-9a-fA-FxXzZ_'hbdosHBDOS]+", text)
        return (text if plain else number(expr.value, width_of(expr.type), expr.type.isSigned)), PRIMARY

    def _UnbasedUnsizedIntegerLiteral(self, expr: Any) -> tuple[str, int]:
        width = width_of(expr.type)
        if expr.value.hasUnknown:
            return f"{width}'bx", PRIMARY
        if int(expr.value) == 0:
            return f"{width}'d0", PRIMARY
        return (f"{{{width}{{1'b1}}}}" if width > 1 else "1'b1"), PRIMARY

    def _StringLiteral(self, expr: Any) -> tuple[str, int]:
        return number(expr.eval(self.context).value, width_of(expr.type), False), PRIMARY

    def _UnaryOp(self, expr: Any) -> tuple[str, int]:
        sign = UNARY.get(expr.op.name)
        if sign is None:
            raise self.unsupported(expr, expr.op.name)
        return f"{sign}{self.operand(expr.operand, PREFIX + 1)}", PREFIX

    def _BinaryOp(self, expr: Any) -> tuple[str, int]:
        sign, rank = BINARY[expr.op.name]
        unsigned = sign not in SHIFTS and not all(strip(side).type.canonicalType.isSigned for side in (expr.left, expr.right))
        sides = []
        for side, least in ((expr.left, rank), (expr.right, rank + 1)):
            text, tight = self.unsigned(side) if unsigned else self.rank(side)
            inner = strip(side)
            other = inner.kind == Expr.BinaryOp and BINARY[inner.op.name][0] != sign
            mixed = other and ((rank < 9 and tight < 9) or sign in SHIFTS)
            sides.append(f"({text})" if tight < least or mixed else text)
        return f"{sides[0]} {sign} {sides[1]}", rank

    def unsigned(self, expr: Any) -> tuple[str, int]:
        """The expression where its sign does not count: a cast then needs none."""
        inner = strip(expr)
        if inner.kind == Expr.Conversion and inner.type.canonicalType.isSigned and not self.explicit:
            return self.cast(inner.operand, width_of(inner.type), False), PRIMARY
        return self.rank(expr)

    def _ConditionalOp(self, expr: Any) -> tuple[str, int]:
        (condition,) = expr.conditions
        test = self.operand(condition.expr, CONDITIONAL + 1)
        return f"{test} ? {self.operand(expr.left, CONDITIONAL + 1)} : {self.operand(expr.right, CONDITIONAL)}", CONDITIONAL

    def _Concatenation(self, expr: Any) -> tuple[str, int]:
        parts = [self.sized(part, width_of(part.type)) for part in expr.operands if width_of(part.type)]
        return f"{{{', '.join(parts)}}}", PRIMARY

    def _Replication(self, expr: Any) -> tuple[str, int]:
        inner, count = self.text(expr.concat), self.integer(expr.count)
        times = self.operand(expr.count, PRIMARY) if count is None else str(count)
        return f"{{{times}{inner if inner.startswith('{') else '{' + inner + '}'}}}", PRIMARY

    def _SimpleAssignmentPattern(self, expr: Any) -> tuple[str, int]:
        kind = expr.type.canonicalType
        if kind.isStruct:
            widths = [width_of(part.type) for part in kind if part.kind == Kind.Field]
        else:
            widths = [width_of(kind.arrayElementType)] * len(expr.elements)
        parts = [self.sized(part, width) for part, width in zip(expr.elements, widths, strict=True)]
        return f"{{{', '.join(parts)}}}", PRIMARY

    _StructuredAssignmentPattern = _SimpleAssignmentPattern

    def _Call(self, expr: Any) -> tuple[str, int]:
        name = str(expr.subroutineName)
        constant = self.value(expr)
        if constant is not None:
            return number(constant, width_of(expr.type), expr.type.isSigned), PRIMARY
        if name in ("$signed", "$unsigned"):
            return f"{name}({self.text(expr.arguments[0])})", PRIMARY
        if name == "$countones":
            (bits,) = expr.arguments
            return f"{self._ones(width_of(bits.type))}({self.sized(bits, width_of(bits.type))})", PRIMARY
        if expr.isSystemCall:
            raise self.unsupported(expr, name)
        named = visit(expr.subroutine.body, Expr.NamedValue)
        outside = [n.symbol for n in named if n.symbol.kind in (Kind.Net, Kind.Variable) and not n.symbol.parentScope.isProceduralContext]
        if outside and not self.clocked:  # neither `assign` nor `always @*` waits for what a function reads
            raise self.unsupported(expr, f"a function outside of a clocked process that reads {outside[0].name}")
        self.functions.add(name)
        return f"{name}({', '.join(self.text(a) for a in expr.arguments)})", PRIMARY

    def _Conversion(self, expr: Any) -> tuple[str, int]:
        constant = self.value(expr)
        kind = expr.type.canonicalType
        if constant is not None:
            return number(constant, width_of(kind), kind.isSigned), PRIMARY
        before, self.explicit = self.explicit, False
        text = self.cast(expr.operand, width_of(kind), kind.isSigned)
        self.explicit = before
        return text, PRIMARY

    def _LValueReference(self, expr: Any) -> tuple[str, int]:
        return self.target, PRIMARY

    # ---- widths

    def sized(self, expr: Any, width: int) -> str:
        """The expression with exactly this width, for a place where Verilog would not give it that."""
        inner = strip(expr)
        own = self_width(inner)
        if inner.kind == Expr.IntegerLiteral and inner.isDeclaredUnsized:
            return self._literal(inner, width)
        if own == width:
            return self.unsigned(inner)[0]
        if own > width or is_place(inner) or inner.kind not in (Expr.UnaryOp, Expr.BinaryOp, Expr.ConditionalOp):
            return self.cast(inner, width, inner.type.canonicalType.isSigned)
        before, self.explicit = self.explicit, True
        text = self.text(inner)
        self.explicit = before
        return text

    def _literal(self, expr: Any, width: int) -> str:
        return f"{width}'d{int(expr.value) & (1 << width) - 1}"

    def cast(self, expr: Any, width: int, signed: bool) -> str:
        """The value of the expression, computed on its own, in so many bits."""
        expr = strip(expr)
        own, was_signed = self_width(expr), expr.type.canonicalType.isSigned
        if width == 0:
            raise self.unsupported(expr, "a cast to no bits")
        if self.value(expr) is not None:
            return number(self.value(expr).resize(width), width, signed)
        if own == width:
            alone = is_place(expr) or expr.kind in (Expr.Concatenation, Expr.Call, Expr.Conversion)
            text = self.text(expr) if alone else f"{{{self.text(expr)}}}"
            wraps = signed or (alone and was_signed)
            return f"{'$signed' if signed else '$unsigned'}({text})" if wraps and (signed != was_signed or not alone) else text
        if own > width:
            text = self._narrow(expr, width)
        elif not was_signed:
            text = f"{{{width - own}'d0, {self.text(expr)}}}"
        elif is_place(named := bare(expr)) and (place := self.place(named)) and not place.constant:
            top = replace(place, offset=place.offset + own - 1, width=1, name="")
            text = f"{{{{{width - own}{{{top}}}}}, {place}}}"
        else:
            text = f"{self._helper('extend', own, width, True)}({self.text(expr)})"
        return f"$signed({text})" if signed else text

    def _narrow(self, expr: Any, width: int) -> str:
        """The lowest bits. What adds up modulo a power of two is computed on the lowest bits alone."""
        if is_place(expr) and not (place := self.place(expr)).constant and not place.scalar:
            return str(replace(place, width=width))
        if not is_place(expr) and self._is_modular(expr):
            return f"{{{self._modular(expr, width)[0]}}}"
        return f"{self._helper('low', self_width(expr), width, False)}({self.text(expr)})"

    def _is_modular(self, expr: Any) -> bool:
        expr = strip(expr)
        if expr.kind == Expr.BinaryOp and expr.op.name in ("Add", "Subtract", "BinaryAnd", "BinaryOr", "BinaryXor"):
            return self._is_modular(expr.left) and self._is_modular(expr.right)
        if expr.kind == Expr.UnaryOp and expr.op.name == "BitwiseNot":
            return self._is_modular(expr.operand)
        unsigned = not expr.type.canonicalType.isSigned
        return expr.kind == Expr.IntegerLiteral or (is_place(expr) and (unsigned or not self.place(expr).constant))

    def _modular(self, expr: Any, width: int) -> tuple[str, int]:
        expr = strip(expr)
        if expr.kind == Expr.BinaryOp:
            sign, rank = BINARY[expr.op.name]
            (left, tight_left), (right, tight_right) = self._modular(expr.left, width), self._modular(expr.right, width)
            left = left if tight_left >= rank else f"({left})"
            return f"{left} {sign} {right if tight_right > rank else f'({right})'}", rank
        if expr.kind == Expr.UnaryOp:
            text, rank = self._modular(expr.operand, width)
            return f"~{text if rank > PREFIX else f'({text})'}", PREFIX
        if (constant := self.value(expr)) is not None:
            return number(constant.resize(width), width, False), PRIMARY
        return self.cast(expr, width, False), PRIMARY

    def _helper(self, verb: str, own: int, width: int, signed: bool) -> str:
        name = f"{verb}_{own}_to_{width}"
        mark = "signed " if signed else ""
        body = f"{{{{{width - own}{{value[{own - 1}]}}}}, value}}" if signed else f"value[{width - 1}:0]"
        self.helpers[name] = (
            f"  function {mark}[{width - 1}:0] {name};\n    input {mark}[{own - 1}:0] value;\n    {name} = {body};\n  endfunction"
        )
        return name

    def _ones(self, width: int) -> str:
        name = f"ones_of_{width}"
        self.helpers[name] = (
            f"  function integer {name};\n    input [{width - 1}:0] value;\n    integer i;\n    begin\n      {name} = 0;\n"
            f"      for (i = 0; i < {width}; i = i + 1) {name} = {name} + {{31'd0, value[i]}};\n    end\n  endfunction"
        )
        return name

    # ---- parts of vectors

    def place(self, expr: Any) -> Place:
        if expr.kind == Expr.NamedValue:
            symbol, kind = expr.symbol, expr.type.canonicalType
            constant = symbol.kind in (Kind.Parameter, Kind.EnumValue)
            name = self._parameter(symbol) if constant else str(symbol.name)
            if kind.isUnpackedArray:
                return Place(name, False, 0, 0, 0, 0)
            return Place(name, is_scalar(kind), lowest_index(kind), width_of(kind), 0, width_of(kind), (), "", constant)
        if strip(expr.value).kind not in (Expr.NamedValue, Expr.ElementSelect, Expr.RangeSelect, Expr.MemberAccess):
            raise self.unsupported(expr, "a part of what has no name")
        outer, kind, width = self.place(strip(expr.value)), expr.value.type.canonicalType, width_of(expr.type)
        if kind.isUnpackedArray:
            word = f"{outer.base}[{self.text(expr.selector)}]"
            return Place(word, is_scalar(expr.type), lowest_index(expr.type), width, 0, width)
        if expr.kind == Expr.MemberAccess:
            name = f"{outer.name}.{expr.member.name}" if outer.name else expr.member.name
            return replace(outer, offset=outer.offset + int(expr.member.bitOffset), width=width, name=name)
        if kind.isPredefinedInteger or kind.isStruct or kind.isEnum:
            each, low = 1, 0
        else:
            if kind.range.left < kind.range.right:
                raise self.unsupported(expr, "a vector with an ascending range")
            each, low = width_of(kind.arrayElementType), int(kind.range.right)
        start = expr.selector if expr.kind == Expr.ElementSelect else expr.right if expr.selectionKind.name == "Simple" else expr.left
        if expr.kind == Expr.RangeSelect and expr.selectionKind.name == "IndexedDown":
            low += width // each - 1
        at = self.integer(start)
        if at is not None:
            return replace(outer, offset=outer.offset + (at - low) * each, width=width)
        text, rank = self.rank(start)
        if (each > 1 or outer.terms or outer.low or outer.offset or low) and rank < PRIMARY:
            # An index counts in its own width, also where it is a part of a sum.
            text = f"({text})" if self_width(start) >= 32 else f"{{{text}}}"
        if each > 1:
            text = f"{text} * {each}"
        return replace(outer, offset=outer.offset - low * each, width=width, terms=(*outer.terms, text))
