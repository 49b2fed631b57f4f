"""Write `docs/papers.md`: every figure and table of the papers, and what the studies found of it.

    python tools/papers.py [--check]
    python tools/papers.py --keep DIR...
    python tools/papers.py --judge NAME...
    python tools/papers.py --published CSV

It comes from `spec/papers.toml`, the claims in `packages/lab/cuesta_lab/studies` and the results in
`packages/lab/results`. With `--check` nothing is written: it prints one line for each thing that is
wrong and exits with 1, be it that a figure lacks in the list, that a study names one that is not
there, that a result does not belong to its study, or that the page is not current.

`--keep` puts the `study.json` of a folder of `cuesta study run`, of the real size, into
`packages/lab/results`, with the samples that its claims and views use, and writes the page again.
`--judge` judges such a result by the claims that its study has today, from the same samples.
`--published` judges the claims of `spec/published.toml` by the times that authors published.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import published
from cuesta_lab.study import claims, premises
from cuesta_lab.study.measures import MEMORY_LIMIT
from paperslist import PUBLISHED, RESULTS, STUDIES, UNMET, Papers, Row
from paperspage import page_text

ROOT = Path(__file__).resolve().parent.parent
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
    "exponent", "order", "linear", "steadier", "mean", "paper", "near", "paper_at", "at", "premise",
    "untested", "figures",
)  # fmt: skip
"""Keys of a claim that decide its verdict."""


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
    elif list(arguments[:1]) == ["--published"]:
        published.write(Path(arguments[1]), root)
        arguments = ()
    papers = Papers.read(root)
    if list(arguments) != ["--check"]:
        page.write_text(page_text(papers), encoding="utf-8")
        return 0
    faults = [*problems(papers), *published.problems(root)]
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
    measures = {"work", "wall", "peak", "input", MEMORY_LIMIT}
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
    for claim in papers.published:
        yield from (
            f"{PUBLISHED}: {name} is not in spec/papers.toml"
            for name in claim["figures"]
            if name not in ids
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
