"""Imports of a Python file, in any place: at the top, in functions, under `TYPE_CHECKING`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tidyrules import SourceFile

ROOTS = ("python", "packages/lab", "packages/store")
"""Folders of the packages `cuesta`, `cuesta_lab` and `cuesta_store`."""


def parts_in_root(path: str) -> tuple[str, ...]:
    """Parts of a path below the root of its package; none outside the packages."""
    for root in map(PurePosixPath, ROOTS):
        if PurePosixPath(path).is_relative_to(root):
            return PurePosixPath(path).relative_to(root).parts
    return ()


def imported(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Every module that a file of a package imports, with the line; none if it does not parse.

    `from package import name` imports the module of that name, or, where there is none, the
    package. `import_module` with a string is an import too.
    """
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return
    package = parts_in_root(file.path)[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                name = f"{module}.{alias.name}"
                yield node.lineno, name if _is_module(file.root, name) else module
        elif isinstance(node, ast.Call) and _is_import_call(node.func):
            strings = (argument for argument in node.args if isinstance(argument, ast.Constant))
            yield from ((node.lineno, str(string.value)) for string in strings)


def _is_import_call(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else None
    name = function.id if isinstance(function, ast.Name) else name
    return name in {"import_module", "__import__"}


def _is_module(root: Path, name: str) -> bool:
    return any(_is_module_of(root / package, name) for package in ROOTS)


def _is_module_of(folder: Path, name: str) -> bool:
    path = folder.joinpath(*name.split("."))
    return path.is_dir() or any(path.with_suffix(end).is_file() for end in (".py", ".pyi"))
