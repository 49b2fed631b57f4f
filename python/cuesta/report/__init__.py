"""Reports: one self-contained HTML file out of run records, and nothing else.

`write` reads records (`run.json`, `compare.json`, or folders that hold them) and writes a page
with inline style and inline SVG: no script, no font, no picture from elsewhere. The same records
give the same bytes. `write_any` also writes pages of records that another product reads.

Safe to change: anything that is drawn. What breaks: a page that reads more than records cannot be
made from a record alone.
"""

from __future__ import annotations

from cuesta.report.page import render, write
from cuesta.report.records_of_any import write_any

__all__ = ["render", "write", "write_any"]
