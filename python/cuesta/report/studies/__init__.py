"""The page of a study: what the paper found beside what we found, then every view of it.

`read` takes `study.json` and the run records it names, `page` makes values out of them that the
template `study.html.j2` turns into HTML. Nothing here knows an engine or a workload.
"""

from __future__ import annotations

from cuesta.report.studies.model import FILE_NAME, SCHEMA, FoundStudy
from cuesta.report.studies.page import StudyPage, made
from cuesta.report.studies.reading import is_study, read

__all__ = ["FILE_NAME", "SCHEMA", "FoundStudy", "StudyPage", "is_study", "made", "read"]
