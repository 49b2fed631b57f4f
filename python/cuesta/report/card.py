"""A run, a comparison or an assessment as a small piece of HTML, for a cell of a notebook.

It has the content of the page's first screen, in a style that affects nothing outside it and takes
its colours of text and background from its surroundings: it is readable on dark and on light.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from cuesta.report import answer, assessment
from cuesta.report.blocks import Alert, Block, Mark, Pair, Section
from cuesta.report.page import environment
from cuesta.report.records import Fields, read_groups
from cuesta.report.sections import sections

SHOWN_MAX = 1
"""Pictures of the answer that are open; the others unfold."""


@dataclass(frozen=True, kw_only=True)
class _Card:
    """Content of a card, from top to bottom."""

    question: str
    lead: tuple[str, ...]
    heading: str = ""
    alerts: tuple[Alert, ...] = ()
    marks: tuple[Mark, ...] = ()
    facts: tuple[Pair, ...] = ()
    shown: tuple[Block, ...] = ()
    folded: tuple[Block, ...] = ()
    place: str = ""


def card(folder: Path) -> str:
    """The card of the runs in an answer folder, or in that of a comparison.

    Errors: `InputError` when there is no record.
    """
    (group,) = read_groups([folder])
    (section,) = sections([group])
    compared = len(group.runs) > 1
    blocks = _blocks(section, "The comparison" if compared else "The answer")
    alerts = tuple(alert for alert in section.alerts if alert.grave)
    return _render(
        _Card(
            question=section.question,
            lead=section.lead[:2] if compared else section.lead[:1],
            heading=section.stamp or "Do not trust this yet",
            alerts=alerts,
            marks=section.marks,
            facts=section.facts,
            shown=blocks[:SHOWN_MAX],
            folded=blocks[SHOWN_MAX:],
            place=str(folder),
        )
    )


def assessment_card(fields: Fields) -> str:
    """The card of an assessment by `cuesta assess`."""
    blocks = tuple(assessment.lists(fields))
    return _render(
        _Card(
            question="How good is the assembly?",
            lead=(" ".join(assessment.about(fields)),),
            shown=blocks,
            folded=tuple(answer.views("cuesta-assessed", fields)),
        )
    )


def _blocks(section: Section, title: str) -> tuple[Block, ...]:
    return next((part.blocks for part in section.parts if part.title == title), ())


def _render(made: _Card) -> str:
    chart = environment().get_template("chart.css").render()
    style = environment().get_template("card.css").render() + _scoped(chart)
    fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
    return environment().get_template("card.html.j2").render(style=Markup(style), **fields)


def _scoped(style: str) -> str:
    """Style rules that begin with a class at the beginning of a line, limited to cards."""
    return re.sub(r"(?m)(^|(?<=, ))(?=\.[a-z])", ".cuesta ", style)
