"""What the engines share for `images`: requests, and who looks at which images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuesta.engines.request import native_request
from cuesta.engines.shares import FileShare, file_share, share_of

CEILING = "file_read_warm_bytes_per_s"
"""What bounds the phase `images`."""


def shares(facts: Mapping[str, Any], parts: int) -> list[FileShare]:
    """Even shares of all images, some of which may be empty; a share opens its own files only."""
    return [
        file_share(facts["files"], *share_of(facts["images"], at, parts)) for at in range(parts)
    ]


def rows(native: Any, asked: Mapping[str, Any], share: FileShare) -> str:
    """Lines of the answer for the images of a share. Errors: `InputError`."""
    if not share.count:
        return ""
    lines: str = native.images_rows(
        native_request(asked, inputs=share.inputs), share.base, (share.first, share.count)
    )
    return lines
