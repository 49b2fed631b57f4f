"""Requests of engines to the native module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuesta.native import to_json

_REQUEST = ("inputs", "parameters", "output", "seed", "threads", "memory_bytes", "scratch")


def native_request(fields: Mapping[str, Any], **changes: object) -> str:
    """Return the request for the native module, with some fields changed."""
    return to_json({name: (dict(fields) | changes)[name] for name in _REQUEST})
