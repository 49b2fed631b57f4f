"""The native module's view of a trial, and its answers, as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from cuesta.errors import EngineMissing, InputError
from cuesta.trial import Trial


def native_module() -> ModuleType:
    """Return `cuesta._native`. Errors: `EngineMissing` when the package is installed without it."""
    try:
        from cuesta import _native
    except ImportError as error:
        raise EngineMissing(
            f"the native module does not load ({error}); install a wheel of cuesta for this "
            "platform, or run `make build` in a checkout"
        ) from None
    return _native


def to_request(trial: Trial, output: Path, scratch: Path, *, verify: str = "full") -> str:
    """The request for `_native.run` and `_native.verify`. Errors: as `request_fields`."""
    return to_json(request_fields(trial, output, scratch) | {"verify": verify})


def request_fields(trial: Trial, output: Path, scratch: Path) -> dict[str, Any]:
    """Return the fields of a request, for engines that change some of them.

    Errors: `InputError` for a path that JSON cannot hold.
    """
    for path in (*trial.inputs, trial.names or "", str(output), str(scratch)):
        try:
            path.encode()
        except UnicodeEncodeError:
            raise InputError(f"{path!r} is not UTF-8; rename the file or the folder") from None
    return {
        "inputs": list(trial.inputs),
        "parameters": dict(trial.parameters),
        "names": trial.names,
        "output": str(output),
        "seed": trial.seed,
        "threads": trial.threads,
        "memory_bytes": trial.memory_bytes,
        "scratch": str(scratch),
    }


def to_json(value: object) -> str:
    """Return the JSON text of a value for the native module."""
    return json.dumps(value)


def from_response(response: str) -> dict[str, Any]:
    """Return the object in a response."""
    fields: dict[str, Any] = json.loads(response)
    return fields
