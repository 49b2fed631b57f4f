"""A command whose options are the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar, get_type_hints

Options = TypeVar("Options")


def command(kind: type[Options], body: Callable[[Options], None]) -> Callable[..., None]:
    """A function with the fields of `kind` as keywords, for Typer; it calls `body` with them."""

    def run(**options: Any) -> None:
        body(kind(**options))

    hints = get_type_hints(kind, include_extras=True)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=hints[field.name],
                default=_default(field),
            )
            for field in fields(kind)  # type: ignore[arg-type]
        ]
    )
    run.__annotations__ = hints
    return run


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
