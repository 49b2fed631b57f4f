"""Data-intensive science at hardware speed, verified and measured against the machine's ceilings.

The command line is `cuesta` (`python -m cuesta` is the same). From Python:

>>> import cuesta
>>> answer = cuesta.run("communities", "pairs.txt", min_abs_score=0.8)
>>> answer.table()

The keywords are the words of the command line. This module imports nothing before it is needed; its
types are in `__init__.pyi`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__version__ = "0.2.0"

_PLACES = {
    "run": "calls",
    "compare": "calls",
    "assess": "calls",
    "report": "calls",
    "Answer": "answer",
    "Comparison": "answer",
    "Assessment": "answer",
}
"""By name, the module of `cuesta.api` that has it."""

_ERRORS = (
    "CuestaError", "InputError", "EngineError", "EngineMissing", "VerificationError", "Defect",
)  # fmt: skip
_LAZY = ("data", "tl", *_PLACES, *_ERRORS)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'cuesta' has no attribute {name!r}")
    if name in ("data", "tl"):
        return import_module(f"cuesta.{name}")
    place = "cuesta.errors" if name in _ERRORS else f"cuesta.api.{_PLACES[name]}"
    member = getattr(import_module(place), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


class _Package(ModuleType):
    """`cuesta.report` and `cuesta.assess` are calls here, though packages have these names too.

    The packages are there for `from cuesta.report import ...` as any other.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _PLACES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
