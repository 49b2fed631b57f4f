"""What engines ask of the native module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_REQUEST = ("inputs", "parameters", "output", "seed", "threads", "memory_bytes", "scratch")


def native_request(given: Mapping[str, Any], **other: object) -> str:
    """The request for the native module, with some fields changed."""
    return json.dumps({name: (dict(given) | other)[name] for name in _REQUEST})
