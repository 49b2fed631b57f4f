"""A refusal says what to do: the message of an error has a remedy in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tidyrules import Finding, SourceFile

_INSTALLED = re.compile(r"^(?:python/cuesta|packages/[^/]+/cuesta_[^/]+)/.*\.py$")

_REFUSALS = ("InputError", "EngineError")

_REMEDY = re.compile(
    r"; |`cuesta |\b(?:give|use|leave|name|see|set|try|write|needs|expected|install|choose|run"
    r"|at (?:most|least))\b"
)
"""A second clause, or a word that tells what to do."""


def check(file: SourceFile) -> Iterator[Finding]:
    """Messages of `InputError` and `EngineError` that end with static text and have no remedy.

    One that ends with a value may have it there.
    """
    if not _INSTALLED.match(file.path):
        return
    for node in ast.walk(ast.parse(file.text)):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        call = node.exc
        if ast.unparse(call.func) not in _REFUSALS or not call.args:
            continue
        text = _static_text(call.args[0])
        if text is not None and not _REMEDY.search(text):
            yield file.finding(node.lineno, "remedy", f"{text!r} says what is wrong; what helps?")


def _static_text(message: ast.expr) -> str | None:
    """Static text of a message; None where it ends with a value."""
    if isinstance(message, ast.Constant):
        return str(message.value)
    if not isinstance(message, ast.JoinedStr):
        return None
    last = message.values[-1]
    if not isinstance(last, ast.Constant) or last.value == ")":
        return None
    return "...".join(str(part.value) for part in message.values if isinstance(part, ast.Constant))
