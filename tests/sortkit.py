"""A file to sort, and trials that sort it, for engines of several processes."""

from __future__ import annotations

from pathlib import Path

from cuesta import _native
from cuesta.native import to_json
from cuesta.trial import Trial


def write_records(path: Path, rows: int) -> Path:
    """Write records of TeraGen's layout."""
    _native.data_make("tera", to_json({"output": str(path), "rows": rows, "threads": 1, "seed": 1}))
    return path


def sorting(engine: str, path: Path, memory_bytes: int, **options: str) -> Trial:
    """Return a trial that sorts a file on two threads."""
    return Trial(
        workload="sort",
        engine=engine,
        inputs=(str(path),),
        parameters={},
        threads=2,
        memory_bytes=memory_bytes,
        engine_options=options,
    )


def places(folder: Path) -> tuple[Path, Path]:
    """Create new folders for an answer and for scratch."""
    folders = folder / "answer", folder / "scratch"
    for place in folders:
        place.mkdir(parents=True)
    return folders
