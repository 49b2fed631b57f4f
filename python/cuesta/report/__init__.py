"""Reports: one self-contained HTML file out of run records, and nothing else.

`write` reads records (`run.json`, `compare.json`, or folders that hold them) and writes a page
with inline style and inline SVG: no script, no font, no picture from elsewhere. The same records
give the same bytes. `explain` in `cuesta.report.explain` describes one run as plain text.

Safe to change: anything that is drawn. What breaks: a page that reads more than records cannot be
made from a record alone.
"""

from __future__ import annotations

from cuesta.report.page import render, write, write_any, write_study

__all__ = ["render", "write", "write_any", "write_study"]
