"""Write `docs/papers.md`: every figure and table of the papers, and what the studies found of it.

    python tools/papers.py [--check]
    python tools/papers.py --keep DIR...
    python tools/papers.py --judge NAME...

It comes from `spec/papers.toml`, the claims in `packages/lab/cuesta_lab/studies` and the results in
`packages/lab/results`. With `--check` nothing is written: it prints one line for each thing that is
wrong and exits with 1, be it that a figure lacks in the list, that a study names one that is not
there, that a result does not belong to its study, or that the page is not current.

`--keep` puts the `study.json` of a folder of `cuesta study run`, of the real size, into
`packages/lab/results`, with the samples that its claims and views use, and writes the page again.
`--judge` judges such a result by the claims that its study has today, from the same samples.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta_lab.study import claims, premises

ROOT = Path(__file__).resolve().parent.parent
STUDIES = "packages/lab/cuesta_lab/studies"
RESULTS = "packages/lab/results"
VERDICTS = ("holds", "does not hold", "undecided", "premise not met", "cannot be tested")
UNMET = "premise not met"
NOT_RUN = "not run"
COLUMNS = 100
HEAD = """\
# The papers, figure by figure

<!-- Written by `python tools/papers.py` from spec/papers.toml, the studies and their results;
change those instead. -->

Every figure and table of the papers this project builds on, what it shows, and what became of it on
the machine that the results name.

A claim is about runs in the regime of the paper: its premises, which the study file names, are
measured in the same runs. Runs outside are not compared; where the rest decides nothing, the claim's
**premise is not met**, and the sentence says what would meet it. So does one whose measure nothing
counted, and one of a machine that had more to do than it has cores. A claim **holds** when the whole
interval (95 %) of every comparison lies on the side that the paper found, at three levels of the
factor that it is made over, or at all there are where the study has fewer, and of three repeats or
more; it **does not hold** when one lies wholly on the other side; else it is **undecided**. Where
the paper gives a figure, a second sentence compares it with what was found here. What cannot be shown
on such a machine says why. A verdict **by the authors' own data** is of numbers that the authors
published, one run each. `cuesta study run NAME` runs a study again.
"""
_ID = re.compile(r"\d{3}:(figure|table)-(\d+)([a-z]?)")
_STATES = ("waits", "not_here")
_TEXTS = ("id", "title", "shows")
_FIELDS = frozenset({*_TEXTS, *_STATES, "required"})
_MADE_OF = ("workload", "engine", "settings", "input", "factor", "without")
"""Parts of a study file that determine its runs."""
_SPOILING = ("verification", "intervals", "provenance")
"""Rules of Hoefler and Belli that, gravely broken, leave a result that cannot be compared."""
_COMPARING = (
    "measure", "where", "over", "faster", "than", "by", "under", "same", "within", "trend",
    "exponent", "order", "linear", "steadier", "mean", "paper", "near", "paper_at", "premise",
    "untested", "figures",
)  # fmt: skip
"""Keys of a claim that decide its verdict."""

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FigureClaim:
    """A claim of a study about a figure; `judged` is the claim in the stored result."""

    study: str
    claim: Row
    judged: Row | None

    @property
    def verdict(self) -> str:
        """The verdict of the stored result; a claim that cannot be tested needs none."""
        if "untested" in self.claim:
            return "cannot be tested"
        return str(self.judged["verdict"]) if self.judged else NOT_RUN

    @property
    def finding(self) -> str:
        """The finding, or why there is none."""
        if "untested" in self.claim:
            return str(self.claim["untested"])
        return str(self.judged["said"]) if self.judged else "its result is not kept yet"


@dataclass(frozen=True, kw_only=True)
class Papers:
    """Content of the files: papers, figures, and claims by figure."""

    papers: Sequence[Row]
    figures: Sequence[Row]
    studies: Mapping[str, Row]
    results: Mapping[str, Row]

    @classmethod
    def read(cls, root: Path) -> Papers:
        """Read the files of the checkout at `root`."""
        listed = tomllib.loads((root / "spec/papers.toml").read_text("utf-8"))
        studies = {
            path.stem: tomllib.loads(path.read_text("utf-8"))
            for path in sorted((root / STUDIES).glob("*.toml"))
        }
        results = {
            path.stem: json.loads(path.read_text("utf-8"))
            for path in sorted((root / RESULTS).glob("*.json"))
        }
        return cls(
            papers=listed["paper"], figures=listed["figure"], studies=studies, results=results
        )

    def claims(self, figure: str) -> list[FigureClaim]:
        """Claims about a figure, in the order of the studies' names."""
        return [
            FigureClaim(study=name, claim=claim, judged=self.judged(name, claim))
            for name, study in self.studies.items()
            for claim in study.get("claim", [])
            if figure in claim.get("figures", [])
        ]

    def judged(self, study: str, claim: Row) -> Row | None:
        """The claim in the stored result of a study."""
        rows = self.results.get(study, {}).get("claims", [])
        return next((row for row in rows if row["name"] == claim["name"]), None)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Write the page, or check it."""
    page = root / "docs/papers.md"
    if list(arguments[:1]) == ["--keep"]:
        for folder in arguments[1:]:
            keep(Path(folder), root)
        arguments = ()
    elif list(arguments[:1]) == ["--judge"]:
        for name in arguments[1:]:
            judge(name, root)
        arguments = ()
    papers = Papers.read(root)
    if list(arguments) != ["--check"]:
        page.write_text(page_text(papers), encoding="utf-8")
        return 0
    faults = list(problems(papers))
    if not faults and (not page.is_file() or page.read_text("utf-8") != page_text(papers)):
        faults = ["docs/papers.md is not current; run `python tools/papers.py`"]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def keep(folder: Path, root: Path) -> None:
    """Store the result of a study with the others."""
    result = json.loads((folder / "study.json").read_text("utf-8"))
    if result["smoke"]:
        sys.exit(f"{folder} is of the smoke size; keep that of the real size")
    alarms = [alarm for alarm in result.get("alarms", []) if alarm["grave"]]
    spoilt = [alarm["text"] for alarm in alarms if alarm["rule"] in _SPOILING]
    if spoilt := [*spoilt, *_busy(result)]:
        sys.exit(f"{folder} cannot be compared: {spoilt[0]}")
    used = _measures(result)
    for cell in result["cells"]:
        samples = {name: all_ for name, all_ in cell["measures"].items() if name in used}
        cell["measures"] = {
            name: [float(f"{sample:.6g}") for sample in all_] for name, all_ in samples.items()
        }
        cell["runs"] = []
    result["machine"].pop("filesystems", None)
    (root / RESULTS).mkdir(exist_ok=True)
    _write(result, root)


def _busy(result: Row) -> list[str]:
    """Alarms of a machine that had more to do than it has cores before the first run."""
    return [
        str(alarm["text"])
        for alarm in result.get("alarms", [])
        if alarm["rule"] == "timing" and "busy" in alarm["text"]
    ]


def judge(name: str, root: Path) -> None:
    """Judge a stored result by the claims of its study as they are today.

    A claim on a measure that the result does not have is not met, as one is that a machine with
    too much to do was measured for.
    """
    path = root / RESULTS / f"{name}.json"
    result = json.loads(path.read_text("utf-8"))
    study = tomllib.loads((root / STUDIES / f"{name}.toml").read_text("utf-8"))
    for key in _changed(result["file"], study):
        sys.exit(f"{path}: {key} of the study has changed since; run the study again")
    claims.check_claims(study, result["factors"])
    result["file"] = study
    busy = _busy(result)
    result["claims"] = [_spoilt(claim, busy) for claim in claims.judged(result)]
    _write(result, root)


def _spoilt(claim: Row, busy: Sequence[str]) -> Row:
    """A claim as it is judged where its machine was busy: not at all."""
    if not busy or claim["verdict"] in (UNMET, "cannot be tested"):
        return claim
    said = f"{busy[0]} To meet it: run the study on an idle machine. Measured all the same:"
    return {**claim, "verdict": UNMET, "said": f"{said} {claim['said']}", "parts": []}


def _write(result: Row, root: Path) -> None:
    target = root / RESULTS / f"{result['name']}.json"
    target.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _measures(result: Row) -> set[str]:
    """The measures of a result that claims and views use."""
    measures = {"work", "wall", "peak", "input", premises.MEMORY_LIMIT}
    measures |= {f"phase {name}" for name in result.get("phases", [])}
    for row in [*result["claims"], *result["views"]]:
        measures |= premises.measures_of(row)
        sides = [row.get(name) for name in premises.SIDES]
        sides += [side for name in premises.LISTS for side in row.get(name, ())]
        measures |= {side["measure"] for side in [row, *filter(None, sides)] if "measure" in side}
    return measures


def problems(papers: Papers) -> Iterator[str]:
    """Faults of the list, the claims and the results, a line each."""
    ids = [figure.get("id", "") for figure in papers.figures]
    yield from (
        f"spec/papers.toml: {identifier} is there twice" for identifier in sorted(_twice(ids))
    )
    for paper in papers.papers:
        yield from _lacking(paper, ids)
    for figure in papers.figures:
        yield from _wrong(figure, papers)
    for name, study in papers.studies.items():
        for claim in study.get("claim", []):
            unknown = [
                identifier for identifier in claim.get("figures", []) if identifier not in ids
            ]
            yield from (
                f"{STUDIES}/{name}.toml: {identifier} is not in spec/papers.toml"
                for identifier in unknown
            )
    for name, result in papers.results.items():
        yield from _stale(name, result, papers)


def _twice(ids: Sequence[str]) -> set[str]:
    return {identifier for identifier in ids if ids.count(identifier) > 1}


def _lacking(paper: Row, ids: Sequence[str]) -> Iterator[str]:
    """Figures and tables of a paper that are not in the list, or do not exist."""
    counts = {"figure": paper["figures"], "table": paper["tables"]}
    matches = [
        _ID.fullmatch(identifier) for identifier in ids if identifier.startswith(f"{paper['id']}:")
    ]
    listed = {(match[1], int(match[2])) for match in matches if match}
    existing = {(kind, number) for kind, count in counts.items() for number in range(1, count + 1)}
    for kind, number in sorted(existing - listed):
        yield f"spec/papers.toml: {paper['id']}:{kind}-{number} is missing"
    for kind, number in sorted(listed - existing):
        yield f"spec/papers.toml: {paper['id']} has no {kind} {number}"


def _wrong(figure: Row, papers: Papers) -> Iterator[str]:
    name = figure.get("id", "")
    where = f"spec/papers.toml: {name}"
    if not _ID.fullmatch(name) or name[:3] not in {paper["id"] for paper in papers.papers}:
        yield f"{where} is no id of a figure or table of a paper"
    unknown = sorted(figure.keys() - _FIELDS)
    missing = [key for key in _TEXTS if not str(figure.get(key, "")).strip()]
    yield from (f"{where}: {key} is not known" for key in unknown)
    yield from (f"{where}: {key} is missing" for key in missing)
    states = [key for key in _STATES if key in figure]
    claims = papers.claims(name)
    if len(states) > 1 or (claims and states):
        studies = [f"{STUDIES}/{claim.study}.toml" for claim in claims[:1]]
        yield f"{where} has {' and '.join([*states, *studies])}; leave one"
    if figure.get("required") and states:
        yield f"{where} must have a study"
    if not claims and not states:
        yield f"{where} has no study; say what it waits for, or why it is not here"


def _stale(name: str, result: Row, papers: Papers) -> Iterator[str]:
    where = f"{RESULTS}/{name}.json"
    if name not in papers.studies:
        yield f"{where} has no study"
        return
    if result.get("smoke"):
        yield f"{where} is of the smoke size; keep that of the real size"
    made_of = result.get("file", papers.studies[name])
    for key in _changed(made_of, papers.studies[name]):
        yield f"{where}: {key} of the study has changed since; run the study again"
    stored = {claim["name"]: claim for claim in result.get("claims", [])}
    for claim in papers.studies[name].get("claim", []):
        before = stored.get(claim["name"])
        changed = before is None or any(before.get(key) != claim.get(key) for key in _COMPARING)
        if changed and "untested" not in claim:
            yield f"{where}: claim {claim['name']} has changed since; run the study again"


def _changed(made_of: Row, study: Row) -> list[str]:
    """Parts that determine the runs of a study and have changed since."""
    return [key for key in _MADE_OF if made_of.get(key) != study.get(key)]


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
    names = [*VERDICTS, NOT_RUN, "waits", "not here"]
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
        return ", ".join(f"{counts[name]} {name}" for name in (*VERDICTS, NOT_RUN) if counts[name])
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
        texts = [_cell(claim.claim[key]) for key in ("finding", "expected")]
        rows.append(
            f"| **{claim.verdict}** | {' | '.join(texts)} | {_cell(claim.finding)} | {link} |"
        )
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
