"""Sphinx on the pages that `tools/docsite.py` puts together; see ADR 56."""

from __future__ import annotations

from pathlib import Path

project = "Cuesta"
author = "The Cuesta maintainers"
project_copyright = "the Cuesta maintainers, Apache-2.0"
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["docs/_static", "spec/workloads/*/cases"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Typographic dashes and quotes would make options and calls that cannot be typed.
smartquotes = False
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
"""Blocks that are no program have no language; pages that are written begin at any heading."""
highlight_language = "text"

html_theme = "furo"
html_title = "Cuesta"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5d6b",
        "color-brand-content": "#0b5d6b",
        "color-brand-visited": "#0b5d6b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6fc7d6",
        "color-brand-content": "#6fc7d6",
        "color-brand-visited": "#6fc7d6",
    },
}

man_pages = [
    (f"docs/reference/commands/{page.stem}", f"cuesta-{page.stem}", "command of Cuesta", author, 1)
    for page in sorted((Path(__file__).parent / "docs" / "reference" / "commands").glob("*.md"))
]
man_make_section_directory = False
