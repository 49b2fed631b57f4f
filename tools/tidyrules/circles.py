"""Circles of imports: modules of the Python packages that reach each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidyrules import Finding, SourceFile
from tidyrules.imports import imported, parts_in_root

PACKAGES = (("cuesta",), ("cuesta_lab",), ("cuesta_store",))


def circles(uses: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """Groups of members that reach each other, by what each uses; none is in two groups."""
    reached = {member: _reached(member, uses) for member in uses}
    groups = {
        frozenset(other for other in reached[member] if member in reached.get(other, ()))
        for member in uses
    }
    return sorted((circle for circle in groups if len(circle) > 1), key=sorted)


def of_modules(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """A finding for each circle of modules of the packages, at its first file."""
    modules = {_module(file.path): file for file in files if _is_of_package(file.path)}
    imports = {
        name: {module: line for line, module in imported(file) if module in modules}
        for name, file in modules.items()
    }
    for circle in circles({name: imports[name].keys() - {name} for name in modules}):
        first, *_ = sorted(circle)
        line = min(line for module, line in imports[first].items() if module in circle)
        names = " and ".join(sorted(circle))
        message = f"{names} import each other; let one be below the other"
        yield modules[first].finding(line, "circle", message)


def _reached(member: str, uses: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    ahead = [member]
    while ahead:
        for other in uses.get(ahead.pop(), set()) - reached:
            reached.add(other)
            ahead.append(other)
    return reached


def _is_of_package(path: str) -> bool:
    return path.endswith(".py") and parts_in_root(path)[:1] in PACKAGES


def _module(path: str) -> str:
    parts = parts_in_root(path.removesuffix(".py"))
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
