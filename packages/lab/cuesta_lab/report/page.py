"""The page of a study: reads its result, renders the template, writes the file in one step."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader

from cuesta.report import page as pages
from cuesta_lab.report import studies


def write_study(folder: Path, output: Path) -> Path:
    """Write the report of the study in `folder` to the file `output`; return its path.

    `folder` may also be the file of its result, which needs no run records next to it.

    Errors: `InputError` when there is no study, or `output` cannot be written.
    """
    return pages.put(render_study(studies.read(folder)), output)


def render_study(study: studies.StudyResult) -> str:
    """The page of a study as HTML text, a pure function of its values."""
    page = studies.made(study)
    return pages.rendered(
        _environment(), "study.html.j2", title=page.title, origin=page.origin, page=page
    )


@cache
def _environment() -> Environment:
    """The templates of run reports, and those of this package."""
    shared = pages.environment()
    loaders = (PackageLoader("cuesta_lab.report"), shared.loader)
    return shared.overlay(loader=ChoiceLoader([each for each in loaders if each is not None]))
