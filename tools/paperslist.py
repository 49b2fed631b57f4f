"""Papers, their figures, and the claims about each, as `tools/papers.py` reads them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STUDIES = "packages/lab/cuesta_lab/studies"
RESULTS = "packages/lab/results"
PUBLISHED = "spec/published.toml"
PUBLISHED_RESULTS = "spec/published.json"
UNMET = "premise not met"
UNDECIDED = "undecided"
VERDICTS = ("holds", "does not hold", UNDECIDED, UNMET, "cannot be tested")
BY_DATA = "by the authors' own data"
NOT_RUN = "not run"

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FigureClaim:
    """A claim of a study about a figure; `judged` is the claim in the stored result."""

    study: str
    claim: Row
    judged: Row | None
    is_published: bool = False

    @property
    def verdict(self) -> str:
        """The verdict of the stored result; a claim that cannot be tested needs none."""
        if self.is_published:
            return BY_DATA
        if "untested" in self.claim:
            return "cannot be tested"
        if self.judged is None or self._lacks_runs(self.judged):
            return NOT_RUN
        return str(self.judged["verdict"])

    @staticmethod
    def _lacks_runs(judged: Row) -> bool:
        """Whether a kept result has no run that the claim is about."""
        return judged["verdict"] == UNDECIDED and judged.get("parts") == []

    @property
    def words(self) -> str:
        """The verdict as the page shows it."""
        if not self.is_published:
            return f"**{self.verdict}**"
        return f"**{self.judged['verdict'] if self.judged else NOT_RUN}** {BY_DATA}"

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
    published: Sequence[Row] = ()
    by_data: Mapping[str, Row] = field(default_factory=dict)

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
        published = _table(root / PUBLISHED, tomllib.loads).get("claim", [])
        by_data = _table(root / PUBLISHED_RESULTS, json.loads).get("claims", [])
        return cls(
            papers=listed["paper"],
            figures=listed["figure"],
            studies=studies,
            results=results,
            published=published,
            by_data={claim["name"]: claim for claim in by_data},
        )

    def claims(self, figure: str) -> list[FigureClaim]:
        """Claims about a figure, in the order of the studies' names; published data come last."""
        measured = [
            FigureClaim(study=name, claim=claim, judged=self.judged(name, claim))
            for name, study in self.studies.items()
            for claim in study.get("claim", [])
            if figure in claim.get("figures", [])
        ]
        return measured + [
            FigureClaim(
                study="", claim=claim, judged=self.by_data.get(claim["name"]), is_published=True
            )
            for claim in self.published
            if figure in claim["figures"]
        ]

    def judged(self, study: str, claim: Row) -> Row | None:
        """The claim in the stored result of a study."""
        rows = self.results.get(study, {}).get("claims", [])
        return next((row for row in rows if row["name"] == claim["name"]), None)


def _table(path: Path, parse: Callable[[str], Any]) -> Row:
    """Content of a file; nothing where it is not there."""
    return dict(parse(path.read_text("utf-8"))) if path.is_file() else {}
