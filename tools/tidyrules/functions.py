"""Limits of functions: their lengths and parameters, in Rust, Python, Scala and Java."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidyrules import (
    FUNCTION_LINES_MAX,
    PARAMETERS_MAX,
    Finding,
    SourceFile,
    line_of,
    matching,
)


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function as the limits see it.

    `self` and `cls` are not among its parameters; of a tuple in Python each member is one.
    """

    name: str
    line: int
    lines: int
    parameters: int


def check(file: SourceFile) -> Iterator[Finding]:
    """Functions that are too long or take too much."""
    for function in functions_of(file):
        name = function.name
        if function.lines > FUNCTION_LINES_MAX:
            message = f"{name} has {function.lines} lines, at most {FUNCTION_LINES_MAX}"
            yield file.finding(function.line, "function-length", message)
        if function.parameters > PARAMETERS_MAX:
            message = f"{name} takes {function.parameters} parameters, at most {PARAMETERS_MAX}"
            yield file.finding(function.line, "parameters", message)


def functions_of(file: SourceFile) -> Iterator[Function]:
    """Every named function of a file of code, nested ones included."""
    reader = _READERS.get(file.suffix)
    return reader(file) if reader else iter(())


def _python(file: SourceFile) -> Iterator[Function]:
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            yield Function(
                name=node.name,
                line=node.lineno,
                lines=end - node.lineno + 1,
                parameters=_python_parameters(node.args),
            )


def _python_parameters(arguments: ast.arguments) -> int:
    positional = [*arguments.posonlyargs, *arguments.args]
    if positional and positional[0].arg in {"self", "cls"}:
        positional = positional[1:]
    variadic = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    single = [*positional, *arguments.kwonlyargs]
    return sum(_members(argument.annotation) for argument in single) + len(variadic)


def _members(annotation: ast.expr | None) -> int:
    """Number of values that a parameter holds: the members of a tuple of fixed length, or one."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            return max(_members(left), _members(right))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=members)):
            is_fixed = not any(isinstance(member, ast.Constant) for member in members)
            return sum(map(_members, members)) if is_fixed else 1
    return 1


_RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)\s*(?=[<(])")
_RUST_TRAIT = re.compile(r"^impl\b[^{;]*\bfor\b[^{;]*(?=\{)", re.MULTILINE)
_RUST_SELF = re.compile(r"\s*(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?self\b")


def _rust(file: SourceFile) -> Iterator[Function]:
    code = file.code
    # The trait decides the parameters of its methods.
    traits = [(trait.end(), matching(code, trait.end())) for trait in _RUST_TRAIT.finditer(code)]
    for match in _RUST_FUNCTION.finditer(code):
        start = match.end()
        if code[start] == "<":
            start = code.find("(", matching(code, start))
        behind = matching(code, start)
        parameters = _split(code[start + 1 : behind - 1])
        if parameters and _RUST_SELF.match(parameters[0]):
            parameters = parameters[1:]
        yield Function(
            name=match[1],
            line=line_of(code, match.start()),
            lines=_line_count(code, match.start(), _body_end(code, behind)),
            parameters=0 if any(a < start < z for a, z in traits) else len(parameters),
        )


_JAVA_METHOD = re.compile(r"(?<=[\w>\]])\s+([\w$]+)\s*(?=\()")
_JAVA_BODY = re.compile(r"\s*(?:throws\s+[\w$.,\s]+)?\{")
_JAVA_NOT_A_TYPE = re.compile(r"\b(?:new|return|else|throw|case|yield|assert|record)$")
_JAVA_KEYWORDS = frozenset({"if", "for", "while", "switch", "catch", "synchronized", "try"})


def _java(file: SourceFile) -> Iterator[Function]:
    code = file.code
    for match in _JAVA_METHOD.finditer(code):
        before = code[max(0, match.start() - 12) : match.start()]
        if match[1] in _JAVA_KEYWORDS or _JAVA_NOT_A_TYPE.search(before):
            continue
        behind = matching(code, match.end())
        body = _JAVA_BODY.match(code, behind)
        if not body:
            continue
        # The overridden method decides the parameters.
        head = code[max(code.rfind(end, 0, match.start()) for end in ";{}") + 1 : match.start()]
        overrides = "@Override" in head
        yield Function(
            name=match[1],
            line=line_of(code, match.start(1)),
            lines=_line_count(code, match.start(1), matching(code, body.end() - 1)),
            parameters=0 if overrides else len(_split(code[match.end() + 1 : behind - 1])),
        )


_SCALA_FUNCTION = re.compile(r"\bdef\s+([^\s(\[:={]+)")
_SCALA_LISTS = re.compile(r"\s*(?=[(\[])")
_SCALA_IMPLICIT = re.compile(r"\s*(?:implicit|using)\b")


def _scala(file: SourceFile) -> Iterator[Function]:
    code = file.code
    for match in _SCALA_FUNCTION.finditer(code):
        behind, parameters = match.end(), 0
        while opening := _SCALA_LISTS.match(code, behind):
            start, behind = opening.end(), matching(code, opening.end())
            inside = code[start + 1 : behind - 1]
            if code[start] == "(" and not _SCALA_IMPLICIT.match(inside):
                parameters += len(_split(inside))
        first = line_of(code, match.start())
        last = _scala_last_line(code.split("\n"), first, line_of(code, behind))
        yield Function(name=match[1], line=first, lines=last - first + 1, parameters=parameters)


def _scala_last_line(lines: list[str], first: int, signature_end: int) -> int:
    indent = _indent(lines[first - 1])
    last = signature_end
    for number in range(signature_end + 1, len(lines) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        if _indent(line) <= indent:
            return number if line.lstrip().startswith(("}", ")")) else last
        last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _body_end(code: str, behind: int) -> int:
    while behind < len(code):
        if code[behind] == ";":
            return behind + 1
        if code[behind] == "{":
            return matching(code, behind)
        behind = matching(code, behind) if code[behind] in "([" else behind + 1
    return behind


def _line_count(code: str, start: int, end: int) -> int:
    return code.count("\n", start, end) + 1


def _split(inside: str) -> list[str]:
    """Split a parameter list at its outermost commas."""
    parts, depth, current = [], 0, ""
    for offset, character in enumerate(inside):
        arrow = character == ">" and offset > 0 and inside[offset - 1] in "-="
        if character in "([{<":
            depth += 1
        elif character in ")]}>" and not arrow:
            depth -= 1
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    parts.append(current)
    return [part for part in parts if part.strip()]


_READERS: dict[str, Callable[[SourceFile], Iterator[Function]]] = {
    ".py": _python,
    ".pyi": _python,
    ".rs": _rust,
    ".java": _java,
    ".scala": _scala,
}
