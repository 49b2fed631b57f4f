"""The class of an engine, and its attributes, are not asked for: it has capabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidyrules import Finding, SourceFile

_PACKAGE = "cuesta.engines"
_ATTRIBUTES = frozenset({"hasattr", "getattr"})
_CLASSES = frozenset({"isinstance", "issubclass"})


def check(file: SourceFile) -> Iterator[Finding]:
    """Calls that look at the class or the attributes of an engine, outside tests."""
    if file.suffix != ".py" or file.path.startswith("tests/"):
        return
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return
    imported = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            function = node.func.id
            if function in _ATTRIBUTES | _CLASSES and _is_about_engine(node, imported):
                message = f"{function}: ask the engine for its capabilities"
                yield file.finding(node.lineno, "engine", message)


def _imported(tree: ast.AST) -> frozenset[str]:
    """Classes that a file imports from the package of the engines, and engines from its modules."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{_PACKAGE}.")
        for alias in node.names
        if alias.name[:1].isupper() and (node.module == _PACKAGE or alias.name.endswith("Engine"))
    )


def _is_about_engine(call: ast.Call, imported: frozenset[str]) -> bool:
    """Whether the first argument is called an engine, or a class is from their package."""
    words = _name(call.args[0]).split("_")
    if words[-1].lower() == "engine":
        return True
    is_class = isinstance(call.func, ast.Name) and call.func.id in _CLASSES
    classes = call.args[1:] if is_class else []
    return any(_name(node) in imported for one in classes for node in ast.walk(one))


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
