"""Reasons why images have no object, or a single object that is the complete image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

_OTSU = "otsu"


def sentences(answer: Path, parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield a reason for each kind of image without a meaningful count."""
    kinds: Counter[str] = Counter()
    try:
        with (answer / "features.tsv").open(encoding="utf-8") as file:
            for line in islice(file, 1, None):
                image, _, _, *measures = line.rstrip("\n").split("\t")
                if image != "all":
                    kinds[_kind(measures)] += 1
    except (OSError, ValueError, IndexError):
        return
    images = kinds.total()
    is_dark = parameters.get("objects") == "dark"
    side = "at or below" if is_dark else "above"
    threshold = parameters.get("threshold")
    if threshold == _OTSU:
        # Otsu's threshold leaves pixels on both sides, unless all have the same intensity.
        none = full = "all pixels have the same intensity, which otsu cannot part"
    else:
        none = f"no pixel is {side} --threshold {threshold}"
        full = f"all pixels are {side} --threshold {threshold}"
    small = f"all objects have fewer pixels than --min-pixels {parameters.get('min_pixels')}"
    for kind, count, reason in (
        ("0 objects", kinds["none"], none),
        ("0 objects", kinds["small"], small),
        ("an object that is the complete image", kinds["full"], full),
    ):
        if count:
            has = "have" if count > 1 else "has"
            part = "" if count == images else f"{count:,} of {images:,} images {has} "
            yield f"{part}{kind}: {reason}"


def _kind(measures: list[str]) -> str:
    height, width = int(measures[0]), int(measures[1])
    pixels, objects = int(measures[3]), int(measures[4])
    if pixels == 0:
        return "none"
    if objects == 0:
        return "small"
    return "full" if pixels == height * width else ""
