# SPDX-License-Identifier: Apache-2.0
"""The SystemVerilog that the gateware is written in: what docs/guide/hdl-tools.md promises, checked on slang's syntax trees.

What is not in ALLOWED is a finding; ELSEWHERE says why for what is often wanted. The rest are rules on what is allowed. To widen the
subset, find out what the tools of the page take, add the construct here and there, and teach verilogexpr.py or verilogwriter.py to
rewrite it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyslang import syntax

ALLOWED = frozenset(
    """
    ActionBlock AddExpression AlwaysBlock AlwaysCombBlock AlwaysFFBlock AnsiPortList ArgumentList ArithmeticRightShiftExpression
    AscendingRangeSelect AssignmentExpression AssignmentPatternExpression AssignmentPatternItem AttributeInstance AttributeSpec
    BinaryAndExpression BinaryOrExpression BinaryXorExpression BitSelect BitType CaseStatement CastExpression CompilationUnit
    ConcatenationExpression ConditionalExpression ConditionalPattern ConditionalPredicate ConditionalStatement ContinuousAssign
    DataDeclaration Declarator DefaultCaseItem DescendingRangeSelect DivideExpression ElabSystemTask ElementSelect ElseClause
    EmptyStatement EnumType EqualityExpression EqualsValueClause EventControlWithExpression ExpressionStatement ForLoopStatement
    ForVariableDeclaration FunctionDeclaration FunctionPort FunctionPortList FunctionPrototype GenerateBlock
    GreaterThanEqualExpression GreaterThanExpression HierarchicalInstance HierarchyInstantiation IdentifierName
    IdentifierSelectName IfGenerate ImmediateAssertStatement ImplicitAnsiPort ImplicitType InequalityExpression InitialBlock
    InstanceName IntType IntegerLiteralExpression IntegerVectorExpression InvocationExpression LessThanEqualExpression
    LessThanExpression LogicType LogicalAndExpression LogicalOrExpression LogicalRightShiftAssignmentExpression
    LogicalShiftLeftExpression LogicalShiftRightExpression LoopGenerate ModExpression ModuleDeclaration ModuleHeader
    MultipleConcatenationExpression MultiplyExpression NamedBlockClause NamedParamAssignment NamedPortConnection NamedType
    NetDeclaration NetPortHeader NonblockingAssignmentExpression OrAssignmentExpression OrderedArgument PackageDeclaration
    PackageHeader PackageImportDeclaration PackageImportItem ParameterDeclaration ParameterDeclarationStatement ParameterPortList
    ParameterValueAssignment ParenthesizedEventExpression ParenthesizedExpression PostdecrementExpression PostincrementExpression
    PowerExpression RangeDimensionSpecifier ReturnStatement ScopedName SequentialBlockStatement SignalEventExpression
    SimplePropertyExpr SimpleRangeSelect SimpleSequenceExpr StandardCaseItem StringLiteralExpression StructType StructUnionMember
    StructuredAssignmentPattern SubtractExpression SystemName TimingControlStatement TypedefDeclaration UnaryBitwiseAndExpression
    UnaryBitwiseNotExpression UnaryBitwiseOrExpression UnaryBitwiseXorExpression UnaryLogicalNotExpression UnaryMinusExpression
    UnbasedUnsizedLiteralExpression VariableDimension VariablePortHeader WildcardPortConnection SyntaxList TokenList SeparatedList
    """.split()
)
ELSEWHERE = {
    "InsideExpression": "some synthesis tools do not know `inside`: write the comparisons",
    "StreamingConcatenationExpression": "some synthesis tools do not know streams: write a loop or a concatenation",
    "InterfaceDeclaration": "packagers and block designs want plain ports: no interfaces",
    "UnionType": "unions are taken by some tools only: use part selects",
    "AlwaysLatchBlock": "no latches",
    "CaseGenerate": "write it with `if`: one kind of choice is enough",
    "ForeachLoopStatement": "write the loop with its bounds",
    "JumpStatement": "`break` and `continue` are taken by some tools only: write the condition",
    "TaskDeclaration": "a task: write a function, or the statements",
    "WildcardEqualityExpression": "some synthesis tools do not know `==?`: compare the bits that count",
    "ConcurrentAssertionMember": "an immediate assertion in a clocked process: every tool takes or skips it",
}
SYSTEM = {"$bits", "$clog2", "$countones", "$error", "$onehot0", "$signed", "$unsigned"}
ATTRIBUTES = {"async_reg", "ram_style", "ramstyle", "syn_ramstyle"}


def nodes(tree: Any) -> list[Any]:
    found: list[Any] = []
    tree.root.visit(lambda n: found.append(n) if isinstance(n, syntax.SyntaxNode) else None)
    return found


def findings(path: Path, name: str) -> list[str]:
    """What in a file is outside of the subset, a line each."""
    tree = syntax.SyntaxTree.fromFile(str(path))
    every = nodes(tree)
    found = []
    for node in every:
        for text in judged(node):
            found.append((tree.sourceManager.getLineNumber(node.sourceRange.start), text))
    for node in every:
        if node.kind.name == "ModuleDeclaration":
            for place, text in [*called_too_early(node), *always(node)]:
                found.append((tree.sourceManager.getLineNumber(place.sourceRange.start), text))
    return [f"{name}:{line}: {text}" for line, text in sorted(found)]


def judged(node: Any) -> Iterator[str]:
    kind = node.kind.name
    if kind not in ALLOWED:
        yield ELSEWHERE.get(kind, f"{kind} is not in the subset of docs/guide/hdl-tools.md")
    elif kind in ("LoopGenerate", "IfGenerate"):
        for body in [node.block, *([node.elseClause.clause] if kind == "IfGenerate" and node.elseClause else [])]:
            if body.kind.name == "GenerateBlock" and body.beginName is None:
                yield "a generate block without a name: tools name it differently"
            elif body.kind.name not in ("GenerateBlock", "IfGenerate", "ElabSystemTask"):
                yield "a generate construct without begin and end: tools name its scope differently"
    elif kind == "EnumType" and node.baseType is None:
        yield "an enumeration without a type: say its width"
    elif kind == "ImplicitAnsiPort" and not str(node.header.direction).strip():
        yield "a port without a direction of its own"
    elif kind == "SystemName" and str(node).strip() not in SYSTEM:
        yield f"{str(node).strip()} is not among {', '.join(sorted(SYSTEM))}"
    elif kind == "AttributeSpec" and node.name.value not in ATTRIBUTES:
        yield f"the attribute {node.name.value} is not among {', '.join(sorted(ATTRIBUTES))}"
    elif kind == "DataDeclaration" and node.type.kind.name == "NamedType" and any(getattr(d, "dimensions", ()) for d in node.declarators):
        yield "a memory of structures: not every tool makes a RAM of it; declare it as vectors"


def always(module: Any) -> Iterator[tuple[Any, str]]:
    """Processes by `always` that are no clocked ones of ports of one memory: each writes words of it."""
    processes = []

    def look(node: Any) -> None:
        if getattr(node, "kind", None) == syntax.SyntaxKind.AlwaysBlock:
            written = set()

            def target(inner: Any) -> None:
                if getattr(inner, "kind", None) == syntax.SyntaxKind.NonblockingAssignmentExpression:
                    written.update(re.findall(r"^(\w+)\s*\[", str(inner.left).strip()))

            node.visit(target)
            processes.append((node, written))

    module.visit(look)
    for process, written in processes:
        others = set().union(*(words for other, words in processes if other is not process))
        if not written & others or not re.match(r"@\s*\(\s*posedge\b", str(process.statement).strip()):
            yield process, "always_ff or always_comb: `always` is for a memory that several clocked processes write"


def called_too_early(module: Any) -> Iterator[tuple[Any, str]]:
    """Calls of functions that the module declares further down."""
    declared: dict[str, int] = {}
    calls = []

    def look(node: Any) -> None:
        kind = getattr(node, "kind", None)
        if kind == syntax.SyntaxKind.FunctionDeclaration:
            declared[str(node.prototype.name).strip()] = node.sourceRange.start.offset
        elif kind == syntax.SyntaxKind.InvocationExpression:
            calls.append(node)

    module.visit(look)
    for call in calls:
        name = str(call.left).strip()
        if call.sourceRange.start.offset < declared.get(name, 0):
            yield call, f"{name} is called above its declaration: some tools want it the other way round"
