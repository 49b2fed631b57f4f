"""The store as Cuesta sees it: its places, and the package `cuesta_store`, which may be missing.

Inputs at `cuesta:///` are read by the client in the native module, whoever started the store. What
starts stores needs `cuesta_store`, which this package and `cluster.node_store` import when that is
asked for. The modules next to this one are names from when both were one package.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from cuesta import errors
from cuesta.plugins import remedy

VARIABLE = "CUESTA_STORE"
"""Environment variable with the folder of the store to use."""
MEMORY_ROOT = Path("/dev/shm")
"""A folder whose files the system has in memory."""


def is_installed() -> bool:
    """Whether `cuesta_store` is installed here."""
    return find_spec("cuesta_store") is not None


def require(operation: str) -> None:
    """Refuse an operation that starts a store where that cannot be. Errors: `EngineMissing`."""
    if not is_installed():
        raise errors.EngineMissing(
            f"{operation} needs cuesta-store, which is not installed; {remedy('store')}"
        )


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of `cuesta_store` as the classes of `cuesta.errors` with the same names."""
    from cuesta_store.errors import CuestaError as StoreError

    try:
        yield
    except StoreError as error:
        names = (base.__name__ for base in type(error).__mro__)
        name = next(name for name in names if hasattr(errors, name))
        ours: type[errors.CuestaError] = getattr(errors, name)
        raise ours(str(error)) from None


def absence() -> str | None:
    """Return why no store answers here, in more words than the client has, where that is known."""
    if not is_installed():
        return f"a store is started by cuesta-store; {remedy('store')}"
    from cuesta_store import control
    from cuesta_store.errors import CuestaError as StoreError

    try:
        control.status()
    except StoreError as error:
        return str(error)
    return None
