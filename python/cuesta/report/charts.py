"""The charts of a page as files of their own: SVG, PDF, and what their marks say as CSV.

They are taken out of the HTML text of a page, with the part of its style that they need in light
colours, so that a page of another product works too.
"""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cuesta import outputs, removal
from cuesta.errors import InputError, in_words

WIDTH = 760
"""Width of a picture in pixels."""

_MARGIN_LEFT, _MARGIN, _ROW = 56, 16, 20
_SANS = "'Liberation Sans', Arial, Helvetica, sans-serif"
_FIGURE = re.compile(r"<figure>(.*?)</figure>", re.DOTALL)
_SVG = re.compile(r"<svg (?P<attributes>[^>]*)>(?P<parts>.*)</svg>", re.DOTALL)
_KEY = re.compile(
    r'<li><span class="swatch (?P<tone>[^"]*)"></span>\s*(?P<text>.*?)</li>', re.DOTALL
)
_RULE = re.compile(r"(?P<names>[^{}@]*)\{(?P<body>[^{}]*)\}")
_VARIABLE = re.compile(r"(--[\w-]+):\s*([^;]+);")


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of a page: its title, its SVG text, and the texts of its marks."""

    title: str
    svg: str
    marks: tuple[str, ...]


def check(folder: Path) -> None:
    """Refuse a folder that is there. Errors: `InputError`."""
    outputs.check_local(folder, "--charts")
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists; give --charts a new folder")


def export(page: Path, folder: Path, answers: Sequence[Path] = ()) -> list[str]:
    """Write each chart of a page into the new `folder`, all or none; return the names of the files.

    Figures that are files of `answers` are written too, with their data; of several answers, with
    the number of the answer. PDF needs the package typst; without it there are SVG and CSV.

    Errors: `InputError` where the page has no chart, or the folder exists.
    """
    charts = list(charts_of(page.read_text("utf-8")))
    figures = [
        (path, f"answer-{number}-{path.stem}" if len(answers) > 1 else path.stem)
        for number, answer in enumerate(answers, start=1)
        for path in sorted(answer.glob("figure_*.svg"))
    ]
    if not charts and not figures:
        raise InputError(f"{page} has no chart; leave --charts out")
    check(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with removal.temporary_folder(f"{folder.name[:100]}.partial-", folder.parent) as made:
            complete = Path(made, "charts")
            complete.mkdir()
            for number, chart in enumerate(charts, start=1):
                _write(chart, complete / f"{number:02}-{_slug(chart.title)}")
            for figure, name in figures:
                _copy(figure, complete / name)
            names = sorted(path.name for path in complete.iterdir())
            removal.put_new(complete, folder)
    except OSError as error:
        raise InputError(f"{folder}: {in_words(error)}") from None
    return names


def charts_of(page: str) -> Iterator[Chart]:
    """Yield the charts of a page in their order."""
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
    rules = _rules(re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    for figure in _FIGURE.findall(page):
        svg = _SVG.search(figure)
        if svg is None:
            continue
        titles = [html.unescape(text) for text in re.findall(r"<title[^>]*>(.*?)</title>", figure)]
        keys = [(key["tone"], key["text"].strip()) for key in _KEY.finditer(figure)]
        yield Chart(title=titles[0], svg=_standalone(svg, keys, rules), marks=tuple(titles[1:]))


def table(chart: Chart) -> str:
    """The marks of a chart as CSV: the words before the last colon, and those after it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["mark", "value"])
    for text in chart.marks:
        name, _, value = text.rpartition(": ")
        writer.writerow([name, value])
    return out.getvalue()


def _write(chart: Chart, base: Path) -> None:
    picture = base.with_suffix(".svg")
    picture.write_text(chart.svg, "utf-8")
    if chart.marks:
        base.with_suffix(".csv").write_text(table(chart), "utf-8")
    _make_pdf(picture)


def _copy(figure: Path, base: Path) -> None:
    for path in (figure, figure.with_suffix(".csv")):
        if path.is_file():
            base.with_suffix(path.suffix).write_bytes(path.read_bytes())
    _make_pdf(base.with_suffix(".svg"))


def _make_pdf(picture: Path) -> None:
    if find_spec("typst") is None:
        return
    import typst

    # As JSON, a text is escaped as in Typst.
    text = json.dumps(picture.read_text("utf-8"), ensure_ascii=False)
    source = '#set page(width: auto, height: auto, margin: 0pt)\n#image(bytes({}), format: "svg")'
    picture.with_suffix(".pdf").write_bytes(typst.compile(source.format(text).encode()))


def _standalone(svg: re.Match[str], keys: list[tuple[str, str]], rules: str) -> str:
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', svg["attributes"]))
    inner_width = WIDTH - _MARGIN_LEFT - _MARGIN
    box = attributes.get("viewBox", "")
    size = [float(text) for text in box.split()] or [0, 0, inner_width, 0]
    height = float(attributes.get("height") or inner_width * size[3] / size[2])
    top = _MARGIN + _ROW * len(keys)
    view = f' viewBox="{box}"' if box else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{top + height + _MARGIN:g}" class="{attributes.get("class", "chart")}">',
        f"<style>{rules}</style>",
        f'<rect width="{WIDTH}" height="{top + height + _MARGIN:g}" fill="#ffffff"/>',
        *(_key(number, tone, text) for number, (tone, text) in enumerate(keys)),
        f'<svg x="{_MARGIN_LEFT}" y="{top}" width="{inner_width}" height="{height:g}" '
        f'overflow="visible"{view}>{svg["parts"]}</svg>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _key(number: int, tone: str, text: str) -> str:
    y = _MARGIN + _ROW * number
    if "stroke" in tone:
        right = _MARGIN_LEFT + 12
        swatch = f'<line x1="{_MARGIN_LEFT}" y1="{y}" x2="{right}" y2="{y}" class="curve {tone}"/>'
    else:
        kind = "bar" if tone in ("best", "other", "bad") else "part"
        swatch = (
            f'<rect x="{_MARGIN_LEFT}" y="{y - 6}" width="12" height="12" class="{kind} {tone}"/>'
        )
    words = f'<text x="{_MARGIN_LEFT + 20}" y="{y + 4}" class="name">{text}</text>'
    return swatch + words


def _rules(style: str) -> str:
    """The rules for charts, with the variables of the light page in place."""
    root = re.search(r":root\s*\{([^{}]*)\}", style)
    variables = dict(_VARIABLE.findall(root[1])) if root else {}
    variables |= {"--sans": _SANS, "--paper": "#ffffff"}
    light = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", style)
    for_charts = [
        f"{rule['names'].strip()} {{{_resolved(rule['body'], variables)}}}"
        for rule in _RULE.finditer(light)
        if (".chart" in rule["names"] or "fill:" in rule["body"]) and "padding" not in rule["body"]
    ]
    return "\n".join(for_charts)


def _resolved(body: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"var\((--[\w-]+)\)", lambda use: variables.get(use[1], "#000000"), body).strip()


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "chart"
