"""Pages and texts of the laboratory: a study, an explained run, advice.

`write_study` writes the page of a study; `cuesta report` finds it by the entry points of the group
`cuesta.pages`. `explain` in `cuesta_lab.report.explain` describes one run as plain text, and
`cuesta_lab.report.advice` draws advice. The same records give the same bytes.
"""

from __future__ import annotations

from cuesta_lab.report.page import render_study, write_study

__all__ = ["render_study", "write_study"]
