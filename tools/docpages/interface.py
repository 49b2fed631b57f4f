"""Reference of the Python package, written from its docstrings and its stub.

Every public name of `cuesta` has a section: the calls from the stub, whose docstrings explain each
keyword, classes and errors from their own docstrings.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import cuesta
from generate_api import STUB

_PROPERTIES = (property, functools.cached_property)
_EXAMPLES = {
    "run": 'answer = cuesta.run("scan", "pairs.txt", min_abs_score=0.8)\nanswer.table()',
    "compare": 'cuesta.compare("degrees", "pairs.txt", engines=["native", "spark"]).digest',
    "assess": 'cuesta.assess("assembled", reference="genome.fa")',
    "report": 'cuesta.report("groups", "compared", output="report.html")',
    "data": 'paths = cuesta.data.get("nci60")',
}
"""An example for each name that is called first."""


def public_names() -> list[str]:
    """Return the names that the stub of the package exports, in order."""
    names: list[str] = []
    for node in _stub().body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cuesta"):
            names += [alias.asname or alias.name for alias in node.names if alias.asname]
        elif isinstance(node, ast.FunctionDef) and node.name not in names:
            names.append(node.name)
    return names


def page() -> str:
    """Return the text of the page, in Markdown."""
    lines = [
        "# Python interface",
        "",
        *_text(inspect.getdoc(cuesta) or ""),
        "",
        "The keywords are the long words of the [command line](commands/run.md), with `_` for `-`; "
        "options that nobody gives have their [settings](../guide/settings.md). Events are "
        "logged by `logging`, as the logger `cuesta`: steps at INFO, details at DEBUG.",
        "",
    ]
    order = ["run", "compare", "assess", "report", "data"]
    names = public_names()
    for name in [*order, *(name for name in names if name not in order)]:
        lines += [f"## cuesta.{name}", ""]
        if name in _EXAMPLES:
            lines += ["```python", "import cuesta", "", _EXAMPLES[name], "```", ""]
        lines += _member(name)
    return "\n".join([*lines, ""])


def undocumented() -> list[str]:
    """Return public names, methods and properties that have no docstring."""
    missing = []
    for name in public_names():
        member = getattr(cuesta, name)
        if not inspect.getdoc(member):
            missing.append(name)
        if inspect.isclass(member) and not issubclass(member, Exception):
            missing += [f"{name}.{part}" for part, at in _members(member) if not inspect.getdoc(at)]
    return missing


def _member(name: str) -> Iterator[str]:
    member: Any = getattr(cuesta, name)
    overloads = [
        node for node in _stub().body if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    if overloads and len(overloads) > 1:
        yield from _text((inspect.getdoc(member) or "").partition("\nWorkloads, with")[0])
        for node in overloads:
            workload = re.findall(r"'(\w+)'", ast.unparse(node.args.args[0]))[0]
            yield from (f'### cuesta.{name}("{workload}")', "")
            yield from _text(ast.get_docstring(node) or "")
    elif isinstance(member, ModuleType):
        yield from _text(inspect.getdoc(member) or "")
        for part in ("get", "names", "make"):
            if callable(getattr(member, part, None)):
                yield from (f"### cuesta.{name}.{part}{_signature(getattr(member, part))}", "")
                yield from _text(inspect.getdoc(getattr(member, part)) or "")
    elif inspect.isclass(member):
        yield from _text(inspect.getdoc(member) or "")
        if not issubclass(member, Exception):
            for part, at in _members(member):
                signature = "" if isinstance(at, _PROPERTIES) else _signature(at)
                yield from (f"### {name}.{part}{signature}", "")
                yield from _text(inspect.getdoc(at) or "")
    else:
        yield from ("```text", f"cuesta.{name}{_signature(member)}", "```", "")
        yield from _text(inspect.getdoc(member) or "")


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers(kind):
        is_shown = isinstance(member, _PROPERTIES) or inspect.isfunction(member)
        if not name.startswith("_") and is_shown:
            yield name, member


def _signature(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "()"
    parameters = [each for name, each in signature.parameters.items() if name != "self"]
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _text(docstring: str) -> Iterator[str]:
    """A docstring in the style of numpydoc as Markdown: sections, and a list of parameters."""
    lines = inspect.cleandoc(docstring).splitlines()
    section = ""
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if after and set(after) == {"-"} and line:
            section = line
            yield from ("", f"**{line}**", "")
        elif line and set(line) == {"-"}:
            continue
        elif section and line and not line.startswith(" "):
            yield from ("", f"`{line.strip()}`")
        elif section and line.startswith("    "):
            yield f": {line.strip()}" if not lines[number - 1].startswith("    ") else line.strip()
        elif line.startswith(">>>"):
            yield f"    {line}"
        else:
            yield line
    yield ""


def _stub() -> ast.Module:
    return ast.parse(STUB.read_text(encoding="utf-8"))
