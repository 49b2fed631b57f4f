"""The page of a study: the paper's findings next to ours, then all views.

`read` takes `study.json` and the run records it names, `page` makes values out of them that the
template `study.html.j2` turns into HTML. Nothing here knows an engine or a workload.
"""

from __future__ import annotations

from cuesta_lab.report.studies.model import FILE_NAME, SCHEMA, StudyResult
from cuesta_lab.report.studies.page import StudyPage, made
from cuesta_lab.report.studies.reading import read

__all__ = ["FILE_NAME", "SCHEMA", "StudyPage", "StudyResult", "made", "read"]
