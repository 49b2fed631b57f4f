"""Pages of records of other products, found by entry points of the group `cuesta.pages`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cuesta.errors import EngineMissing
from cuesta.plugins import plugin, remedy
from cuesta.report.records import mapping
from cuesta.untrusted import read_json

GROUP = "cuesta.pages"
"""Entry points with the name of a record, each a function of the record and the page to write."""

STUDY_FILE = "study.json"
STUDY_SCHEMA = "cuesta.study/2"
"""Name and schema of the result of a study."""

PROGRAMS_FILE = "programs.json"
PROGRAMS_SCHEMA = "cuesta.programs/1"
"""Name and schema of the record of a comparison of programs."""

PageWriter = Callable[[Path, Path], Path]


def page_writer(path: Path) -> PageWriter | None:
    """The function that writes the page of a study; None where `path` has none.

    Errors: `EngineMissing` where the product that draws studies is not installed.
    """
    if not is_study(path):
        return None
    writer: PageWriter | None = plugin(GROUP, "study")
    if writer is None:
        raise EngineMissing(f"report: {path} is a study, which needs {remedy('lab')}")
    return writer


def is_study(path: Path) -> bool:
    """Whether `path` is the folder, or the file, of a study of the schema."""
    return has_schema(path, STUDY_FILE, STUDY_SCHEMA)


def has_schema(path: Path, name: str, schema: str) -> bool:
    """Whether `path` is a record of this schema, or a folder with one under this name."""
    file = path / name if path.is_dir() else path
    if file.suffix != ".json" or not file.is_file():
        return False
    try:
        return mapping(read_json(file)).get("schema") == schema
    except (OSError, ValueError, RecursionError):
        return False
