"""The page `docs/papers.md`: every figure, and the verdicts on the claims about it."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence

from paperslist import BY_DATA, NOT_RUN, PUBLISHED, STUDIES, VERDICTS, FigureClaim, Papers, Row

COLUMNS = 100
HEAD = """\
# The papers, figure by figure

<!-- Written by `python tools/papers.py` from spec/papers.toml, the studies and their results;
change those instead. -->

Every figure and table of the papers this project builds on, what it shows, and what became of it on
the machine that the results name.

A claim is about runs in the regime of the paper: its premises, which the study file names, are
measured in the same runs. Runs outside are not compared; where the rest decides nothing, the
claim's **premise is not met**, and the sentence says what would meet it. So does one whose measure
nothing counted, and one of a machine that had more to do than it has cores. A claim **holds** when
the whole interval (95 %) of every comparison lies on the side that the paper found, at three levels
of the factor that it is made over, or at all there are where the study has fewer, and of three
repeats or more; it **does not hold** when one lies wholly on the other side; else it is
**undecided**. Where the paper gives a figure, a second sentence compares it with what was found
here. What cannot be shown on such a machine says why. A verdict **by the authors' own data** is of
numbers that the authors published, one run each. `cuesta study run NAME` runs a study again.
"""


def page_text(papers: Papers) -> str:
    """The page."""
    parts = [HEAD, _summary(papers)]
    for paper in papers.papers:
        of_paper = [
            figure for figure in papers.figures if figure["id"].startswith(f"{paper['id']}:")
        ]
        parts.append(_list(paper, of_paper, papers))
        parts += [
            _section(figure, papers.claims(figure["id"]))
            for figure in of_paper
            if _is_studied(figure, papers)
        ]
    return "\n".join(parts)


def _is_studied(figure: Row, papers: Papers) -> bool:
    return bool(papers.claims(figure["id"]))


def _summary(papers: Papers) -> str:
    """Claims by verdict, and figures without one, for each paper."""
    names = [*VERDICTS, BY_DATA, NOT_RUN, "waits", "not here"]
    rows = [f"| | figures and tables | {' | '.join(names)} |", f"|---|{'--:|' * (len(names) + 1)}"]
    for paper in papers.papers:
        of_paper = [claim for claim in papers.figures if claim["id"].startswith(f"{paper['id']}:")]
        counts: Counter[str] = Counter()
        counted: set[tuple[str, str]] = set()
        for figure in of_paper:
            claims = papers.claims(figure["id"])
            new = [claim for claim in claims if (claim.study, claim.claim["name"]) not in counted]
            counted |= {(claim.study, claim.claim["name"]) for claim in claims}
            counts.update(claim.verdict for claim in new)
            if not claims:
                counts["waits" if "waits" in figure else "not here"] += 1
        cells = " | ".join(str(counts[name] or "") for name in names)
        rows.append(f"| {paper['name']} | {len(of_paper)} | {cells} |")
    return "\n".join([*rows, "", "Verdicts count claims; the last two columns count figures.", ""])


def _list(paper: Row, figures: Sequence[Row], papers: Papers) -> str:
    rows = [
        f"## {paper['name']}",
        "",
        *textwrap.wrap(f"*{paper['title']}*", COLUMNS),
        "",
        f"{paper['source']}.",
        "",
        "| | what it shows | state |",
        "|---|---|---|",
    ]
    for figure in figures:
        claims = papers.claims(figure["id"])
        name = _number(figure)
        shown = f"[{name}](#{_anchor(figure)})" if claims else name
        rows.append(f"| {shown} | {_cell(figure['shows'])} | {_state(figure, claims)} |")
    return "\n".join([*rows, ""])


def _state(figure: Row, claims: Sequence[FigureClaim]) -> str:
    if claims:
        counts = Counter(claim.verdict for claim in claims)
        return ", ".join(
            f"{counts[name]} {name}" for name in (*VERDICTS, BY_DATA, NOT_RUN) if counts[name]
        )
    if "waits" in figure:
        return f"waits for {_cell(figure['waits'])}"
    return f"not here: {_cell(figure.get('not_here', ''))}"


def _section(figure: Row, claims: Sequence[FigureClaim]) -> str:
    """A figure with the claims about it."""
    rows = [
        f"### {_heading(figure)}",
        "",
        "| verdict | the paper found | expected here | found here | study |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        link = f"[{claim.study}](../{STUDIES}/{claim.study}.toml)"
        if claim.is_published:
            link = f"[published times](../{PUBLISHED})"
        texts = [_cell(claim.claim[key]) for key in ("finding", "expected")]
        rows.append(f"| {claim.words} | {' | '.join(texts)} | {_cell(claim.finding)} | {link} |")
    return "\n".join([*rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _number(figure: Row) -> str:
    """Such as Figure 6a."""
    return str(figure["id"]).partition(":")[2].replace("-", " ").capitalize()


def _heading(figure: Row) -> str:
    return f"{figure['id'][:3]} {_number(figure)}: {figure['title']}"


def _anchor(figure: Row) -> str:
    """As code hosts make it of a heading."""
    return re.sub(r"[^\w\- ]", "", _heading(figure).lower()).replace(" ", "-")
