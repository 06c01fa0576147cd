# SPDX-License-Identifier: Apache-2.0
"""What a host allows in the tables by which a card describes itself: limits of registers, and rules across them, as generate.py finds them
in towpath.rdl, and as expressions of C and Rust.

A rule reads `LEFT <= RIGHT`, or `REGISTER == VALUE or LEFT <= RIGHT`. Its arithmetic is +, * and << of 64-bit numbers without a sign:
nothing falls below 0, and a rule that could overflow with registers within their limits is refused here.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

# What a check is told beside the tables: the bytes of each BAR, whose number is the constant of the same name.
INPUTS = ("bar_device", "bar_window", "bar_memory")
TOP = (1 << 64) - 1


class LimitError(Exception):
    """A limit or a rule that no check can be made of."""


@dataclass
class Limit:
    """What a register may hold."""

    least: int
    most: int
    multiple_of: int = 1
    power_of_two: bool = False
    apart: int = 0  # from the same register of every other entry; 0: as near as it likes
    values: dict[str, int] = field(default_factory=dict)  # of its enumeration

    def __post_init__(self) -> None:
        if self.multiple_of & (self.multiple_of - 1) or self.multiple_of < 1:
            raise LimitError(f"multiple_of {self.multiple_of} is not a power of two")
        if self.least > self.most:
            raise LimitError(f"least {self.least} is above most {self.most}")
        if self.values and sorted(self.values.values()) != list(range(self.least, self.most + 1)):
            raise LimitError("the enumeration's values have holes between them")

    @property
    def besides(self) -> str:
        """What is asked for beside least and most, each part behind a comma."""
        parts = [" or ".join(self.values)] if self.values else []
        if self.multiple_of > 1:
            parts.append(f"a multiple of {self.multiple_of}")
        if self.power_of_two:
            parts.append("a power of two" if self.least else "0 or a power of two")
        return "".join(f", {part}" for part in parts)

    @property
    def besides_apart(self) -> str:
        return f", {self.apart} or more away from every other entry's"

    @property
    def text(self) -> str:
        numbers = f"{self.least} to {self.most}" if self.least < self.most else str(self.least)
        return f"{numbers}{self.besides}{self.besides_apart if self.apart else ''}"


@dataclass
class Name:
    """What a name in a rule stands for: the most it can be, and how C and Rust write it."""

    most: int
    c: str
    rust: str


class Rule:
    """One rule, with the names that may stand in it."""

    def __init__(self, text: str, names: dict[str, Name], constants: dict[str, int], values: dict[str, dict[str, int]]) -> None:
        self.text, self.names, self.values = text, names, values
        self.inputs = {name: f"the bytes of BAR {constants[name.upper()]}" for name in INPUTS}
        # Who reads a message knows no constant.
        self.shown = re.sub(r"\w+", lambda word: str(constants.get(word[0], word[0])), text)
        try:
            tree = ast.parse(self.shown, mode="eval").body
        except SyntaxError as error:
            raise LimitError(f"rule `{text}`: {error.msg}") from error
        self.unless: tuple[str, int] | None = None
        if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or) and len(tree.values) == 2:
            self.unless = self.condition(tree.values[0])
            tree = tree.values[1]
        match tree:
            case ast.Compare(left=left, ops=[ast.LtE()], comparators=[right]):
                self.left, self.right = left, right
            case _:
                raise self.error("is not `LEFT <= RIGHT` or `REGISTER == VALUE or LEFT <= RIGHT`")
        if max(self.most(self.left), self.most(self.right)) > TOP:
            raise self.error("overflows 64 bits: limit its registers")

    def error(self, what: str) -> LimitError:
        return LimitError(f"rule `{self.text}` {what}")

    def condition(self, node: ast.expr) -> tuple[str, int]:
        match node:
            case ast.Compare(left=ast.Name(id=register), ops=[ast.Eq()], comparators=[ast.Name(id=value)]):
                if value in self.values.get(register, {}):
                    return register, self.values[register][value]
        raise self.error("has another condition than `REGISTER == VALUE`")

    def name(self, name: str) -> Name:
        if name not in self.names:
            raise self.error(f"has an unknown name: {name}")
        return self.names[name]

    def walk(self, node: ast.expr, number: Callable[[int], str], name: Callable[[Name], str]) -> str:
        """As an expression of a language; only what is inside another has brackets."""

        def inner(part: ast.expr) -> str:
            text = self.walk(part, number, name)
            return f"({text})" if isinstance(part, ast.BinOp) else text

        match node:
            case ast.Constant(value=int(value)):
                return number(value)
            case ast.Name(id=word):
                return name(self.name(word))
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.LShift() as operator, right=right):
                sign = {ast.Add: "+", ast.Mult: "*", ast.LShift: "<<"}[type(operator)]
                return f"{inner(left)} {sign} {inner(right)}"
        raise self.error("has other arithmetic than +, * and <<")

    def most(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=word):
                return self.name(word).most
            case ast.BinOp(left=left, op=ast.LShift(), right=right):
                shift = self.most(right)
                if shift > 63:
                    raise self.error("shifts by more than 63")
                return self.most(left) << shift
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.most(left) + self.most(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.most(left) * self.most(right)
        raise self.error("has other arithmetic than +, * and <<")

    def uses(self, name: str) -> bool:
        return any(isinstance(part, ast.Name) and part.id == name for side in (self.left, self.right) for part in ast.walk(side))

    def as_c(self, node: ast.expr) -> str:
        return self.walk(node, lambda value: f"{value}ull", lambda name: name.c)

    def as_rust(self, node: ast.expr) -> str:
        return self.walk(node, str, lambda name: name.rust)

    @property
    def unless_c(self) -> str:
        assert self.unless is not None
        return f"{self.names[self.unless[0]].c} != {self.unless[1]}"

    @property
    def unless_rust(self) -> str:
        assert self.unless is not None
        return f"{self.names[self.unless[0]].rust} != {self.unless[1]}"

    def sides(self) -> tuple[str, str]:
        """As they are shown, left and right of the sign."""
        left, _, right = self.shown.rpartition(" or ")[2].partition(" <= ")
        return left, right

    @property
    def what(self) -> str:
        return self.sides()[0]

    @property
    def besides(self) -> str:
        """Behind the numbers of a message: what the greater one is, and when the rule does not hold."""
        right = self.sides()[1]
        parts = "" if right.isdecimal() else f" ({self.inputs.get(right, right)})"
        return parts + (f" unless {self.shown.partition(' or ')[0]}" if self.unless else "")
