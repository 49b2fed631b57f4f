"""Removals of folders and renames over names that exist are in one module a language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tidyrules import Finding, SourceFile, line_of

_MODULES = {
    ".rs": "crates/runtime/src/removal.rs",
    ".py": "python/cuesta/removal.py",
    ".java": "jvm/hadoop-store/src/main/java/cuesta/hadoop/Removal.java",
    ".scala": "jvm/hadoop-store/src/main/java/cuesta/hadoop/Removal.java",
}
_INSTALLED = re.compile(
    r"^(?:crates/[^/]+/(?:src/(?!(?:.*/)?(?:tests?|benches)(?:/|\.rs$))|build\.rs)"
    r"|python/cuesta/|packages/[^/]+/cuesta_\w+/|jvm/[^/]+/src/main/)"
)
"""Code that users run: no tests, examples, benches or tools."""

_PATTERNS = {
    ".rs": re.compile(r"\bremove_dir_all\b"),
    ".java": re.compile(
        r"\b(?:deleteDirectory|deleteQuietly|forceDelete|deleteRecursively|fullyDelete\w*)\b"
        r"|\b(?:walk|walkFileTree)\s*\([^;{}]*\bdelete"
        r"|\.\s*sorted\s*\(\s*(?:\w+\.)*reverseOrder\b"
        r"|\bfs\s*\.\s*delete\s*\([^;]*,\s*true\s*\)"
    ),
}
_PATTERNS[".scala"] = _PATTERNS[".java"]

_NAMES = frozenset(
    {"rmtree", "removedirs", "renames", "TemporaryDirectory", "copytree", "unlinkat"}
)
_RENAMES = frozenset({"rename", "replace"})
_MOVES = frozenset({("os", "rename"), ("os", "replace"), ("shutil", "move")})
_REMOVERS = frozenset({"rm", "/bin/rm", "/usr/bin/rm"})
_FLAGS = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive")
_SHELL = re.compile(r"(?:^|[\s;&|(])rm\s+(?:-\S+\s+)*-(?:[a-zA-Z]*[rR]|-recursive)")


def check(file: SourceFile) -> Iterator[Finding]:
    """Removals and renames of installed code outside the module of its language."""
    module = _MODULES.get(file.suffix)
    if module is None or file.path == module or not _INSTALLED.match(file.path):
        return
    if file.suffix == ".py":
        places = _python(file)
    else:
        matches = _PATTERNS[file.suffix].finditer(file.code_without_tests)
        places = (
            (line_of(file.code, match.start()), match[0].split("(")[0].strip()) for match in matches
        )
    for line, word in places:
        yield file.finding(line, "removal", f"{word}: only {module} removes folders; use it")


def _python(file: SourceFile) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        word = _word(node)
        if word:
            yield getattr(node, "lineno", 1), word


def _word(node: ast.AST) -> str:
    """Return the name of a forbidden call of a node, or nothing."""
    if isinstance(node, ast.ImportFrom):
        return next((name.name for name in node.names if name.name in _NAMES), "")
    if isinstance(node, ast.Attribute) and node.attr in _NAMES:
        return node.attr
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _renaming(node, node.func)
    if isinstance(node, ast.List | ast.Tuple):
        return _command(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "rm -r" if _SHELL.search(node.value) else ""
    return ""


def _renaming(call: ast.Call, function: ast.Attribute) -> str:
    """A rename of `os`, or `PATH.replace(TARGET)`: that of a text has two arguments."""
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if (owner, function.attr) in _MOVES:
        return f"{owner}.{function.attr}"
    is_path = function.attr in _RENAMES and len(call.args) == 1 and not call.keywords
    return function.attr if is_path else ""


def _command(words: ast.List | ast.Tuple) -> str:
    """`rm` with a flag that makes it recursive, in a list of words."""
    texts = [word.value for word in words.elts if isinstance(word, ast.Constant)]
    names = [text for text in texts if isinstance(text, str)]
    is_recursive = any(_FLAGS.fullmatch(name) for name in names[1:])
    return "rm -r" if names and names[0] in _REMOVERS and is_recursive else ""
