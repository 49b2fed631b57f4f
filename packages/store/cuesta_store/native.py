"""The native module of this package."""

from __future__ import annotations

from types import ModuleType

from cuesta_store.errors import EngineMissing


def native_module() -> ModuleType:
    """Return `cuesta_store._native`. Errors: `EngineMissing` where it is not there."""
    try:
        from cuesta_store import _native
    except ImportError as error:
        raise EngineMissing(
            f"the native module does not load ({error}); install a wheel of cuesta-store for this "
            "platform, or run `make build` in a checkout"
        ) from None
    return _native
