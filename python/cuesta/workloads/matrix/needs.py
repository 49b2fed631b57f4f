"""Libraries that read matrices, and refusals with a remedy."""

from __future__ import annotations

from importlib.util import find_spec

from cuesta.errors import EngineMissing, InputError
from cuesta.plugins import remedy


def require(path: str, kind: str, extra: str, *libraries: str) -> None:
    """Check that libraries are installed. Errors: `EngineMissing` with the command to do so."""
    if any(find_spec(name) is None for name in libraries):
        raise EngineMissing(f"{path} is {kind}; {remedy(extra)} to read it")


def no_layers(path: str, kind: str, layer: str | None) -> None:
    """Refuse a layer. Errors: `InputError`."""
    if layer is not None:
        raise InputError(f"{path} is {kind} and has no layers, --layer is {layer}; leave it out")


def unreadable(path: str, error: BaseException) -> InputError:
    """Return the error of a library as one line."""
    line = (str(error).splitlines() or [""])[0] or type(error).__name__
    return InputError(
        f"{path} cannot be read: {line.rstrip('.')}; obtain it again, or write it anew with the "
        "program that made it"
    )
