"""What the engines share for `images`: requests, and who looks at which images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cuesta.engines.shares import share_of

CEILING = "file_read_warm_bytes_per_s"
"""What bounds the phase `images`."""

_REQUEST = ("inputs", "parameters", "output", "seed", "threads", "memory_bytes", "scratch")


@dataclass(frozen=True, kw_only=True)
class Share:
    """Images that are next to each other.

    Attributes
    ----------
    inputs
        The files that they are in.
    base
        Number of the first image of these files.
    first, count
        The first image, from that one on, and how many there are.
    """

    inputs: tuple[str, ...]
    base: int
    first: int
    count: int


def request(given: Mapping[str, Any], **other: object) -> str:
    """The request for the native module, with some fields changed."""
    return json.dumps({name: (dict(given) | other)[name] for name in _REQUEST})


def shares(facts: Mapping[str, Any], parts: int) -> list[Share]:
    """Even shares of all images, some of which may be empty; a share opens its own files only."""
    return [_share(facts["files"], *share_of(facts["images"], at, parts)) for at in range(parts)]


def _share(files: list[tuple[str, int]], first: int, count: int) -> Share:
    inputs: list[str] = []
    base = number = 0
    for path, images in files:
        if number < first + count and number + images > first:
            base = base if inputs else number
            inputs.append(path)
        number += images
    return Share(inputs=tuple(inputs), base=base, first=first - base, count=count)


def rows(native: Any, asked: Mapping[str, Any], share: Share) -> str:
    """Lines of the answer for the images of a share. Errors: `InputError`."""
    if not share.count:
        return ""
    lines: str = native.images_rows(
        request(asked, inputs=share.inputs), share.base, (share.first, share.count)
    )
    return lines
