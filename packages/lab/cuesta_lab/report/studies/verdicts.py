"""The table of verdicts: the paper's finding, the expectation, the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuesta import numerals as n
from cuesta_lab.report.studies.model import Claim, StudyResult

_TONES = {
    "holds": ("holds", "\u2713"),
    "does not hold": ("fails", "\u2717"),
    "cannot be tested": ("untested", "\u2013"),
    "premise not met": ("untested", "\u2013"),
}
_UNDECIDED = ("undecided", "?")
_COUNTED = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "cannot be tested": ("cannot be tested here", "cannot be tested here"),
    "premise not met": ("lacks its premise here", "lack their premise here"),
    "undecided": ("is undecided", "are undecided"),
}


@dataclass(frozen=True, kw_only=True)
class VerdictPart:
    """A line of the grounds of a verdict."""

    where: str
    words: str
    sign: str
    tone: str


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """A claim as the page shows it; `sign` stands next to the words of the verdict."""

    identifier: str
    verdict: str
    sign: str
    tone: str
    finding: str
    expected: str
    result: str
    figures: str
    parts: tuple[VerdictPart, ...]


def rows(study: StudyResult) -> tuple[VerdictRow, ...]:
    """A row a claim, in the order of the study file."""
    return tuple(_row(study, index, claim) for index, claim in enumerate(study.claims, 1))


def summary(study: StudyResult) -> str:
    """Sentence with the number of claims that hold and that do not; empty without claims."""
    verdicts = [_known(claim.verdict) for claim in study.claims]
    if not verdicts:
        return ""
    counted = [
        f"{verdicts.count(name)} {one if verdicts.count(name) == 1 else more}"
        for name, (one, more) in _COUNTED.items()
        if name in verdicts
    ]
    total = len(verdicts)
    if total == 1:
        return f"The one finding looked at {_COUNTED[verdicts[0]][0]}."
    if set(verdicts) == {"does not hold"}:
        return f"None of {total} findings holds."
    if len(counted) == 1:
        return f"All {total} findings {_COUNTED[verdicts[0]][1]}."
    return f"Of {total} findings {n.listed(counted)}."


def figure_names(figures: Sequence[str]) -> str:
    """Figures and tables as people write them: `000:figure-2` is Figure 2 of paper 000."""
    by_paper: dict[str, list[str]] = {}
    for figure in figures:
        paper, _, place = figure.rpartition(":")
        kind, _, number = place.partition("-")
        words = f"{kind.capitalize()}{n.NBSP}{number}" if number else place
        by_paper.setdefault(paper, []).append(words)
    return "; ".join(
        f"{n.listed(places)}{f' of{n.NBSP}{paper}' if paper else ''}"
        for paper, places in by_paper.items()
    )


def _known(verdict: str) -> str:
    return verdict if verdict in _COUNTED else "undecided"


def _row(study: StudyResult, index: int, claim: Claim) -> VerdictRow:
    tone, sign = _TONES.get(claim.verdict, _UNDECIDED)
    parts: list[VerdictPart] = []
    claim_parts = claim.parts if len(claim.parts) > 1 else ()
    for place, part in enumerate(claim_parts):
        # Behind its steps a trend has one more part, from the first level to the last.
        is_overall = claim.is_trend and place > 0 and part.levels == claim_parts[place - 1].levels
        part_tone, part_sign = _TONES.get(part.verdict, _UNDECIDED)
        parts.append(
            VerdictPart(
                where="in all" if is_overall else study.words(part.levels),
                words=part.words,
                sign=part_sign,
                tone=part_tone,
            )
        )
    return VerdictRow(
        identifier=f"c{index}",
        verdict=claim.verdict,
        sign=sign,
        tone=tone,
        finding=claim.finding,
        expected=claim.expected,
        result=claim.result,
        figures=figure_names(claim.figures),
        parts=tuple(parts),
    )
