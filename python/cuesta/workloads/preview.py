"""Previews of answers, small enough for the run record.

A preview is a list of at most `LIMITS.views` objects, each with a `kind` and a `title`:

- `distribution`: `series` of `[value, how many]` points, drawn on logarithmic axes;
- `histogram`: `bins` of `[low, high, how many]`; optionally `whole` (values are integers,
  `high` is the next bin's), `split` (bins up to it are `below`, the others `above`, in words), a
  `line` of a `name` and `[value, how many]` points, `marks` of a `text` and `x`, `y` or both, `top`
  (the height at which bars are cut off), `tight` (the axis ends with the last bin);
- `bars`: `items` of `[label, how many]`;
- `table`: `columns` and `rows` of text and numbers; names, unlike amounts, are text;
- `list`: `items` of `[name, sentences]`;
- `scatter`: `panels`, each with a `title`, its `x`, `log` where that axis is logarithmic, `points`
  of `[x, y, how many, group]` and `names` of `[text, x, y]`; `groups` are named in words; `y` is
  the same for all, logarithmic;
- `graph`: `panels`, each with a `title` and `lines` of `[name, bases, depth, radius, places]` in a
  frame of 1,000 by `high`: begin, control point and end of a curve, or the middle of a ring that
  has a radius; `depth` is that of most.

`x` and `y` name the axes; a `note` describes what the picture omits. Previews are computed from the
answer files with the standard library alone, outside the timed part of a run. A file of more than
about `LIMITS.lines` lines is sampled by evenly spaced windows with about that many lines in total,
which the note reports. The same files always have the same preview.
"""

from __future__ import annotations

import heapq
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cuesta.workloads import differential, named

View = dict[str, object]

_Pair = tuple[int, int, int]
"""The negated numbers of genes and cluster, so that the first pair wins a tie."""

_Ranked = tuple[float, _Pair, float, int]
"""Absolute score and pair, by which entries are ranked; then score and samples."""

_Candidate = TypeVar("_Candidate", bound=tuple[Any, ...])


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a preview."""

    views: int = 10
    points: int = 240
    bins: int = 80
    rows: int = 8
    members: int = 5
    lines: int = 40_000
    windows: int = 64


LIMITS = Limits()


def preview(workload: str, folder: Path, parameters: Mapping[str, object]) -> list[View]:
    """Return a preview of the answer in `folder`; empty without any content to show.

    Does not fail for a missing file or an unreadable line: a preview is optional, and the verifier,
    not this function, checks the answer.
    """
    try:
        match workload:
            case "scan" | "correlate":
                views = _pairs(folder, int(str(parameters.get("score_index") or 0)))
            case "join":
                views = _join(folder) + differential.views(folder, LIMITS.rows)
            case "degrees" | "communities":
                views = _degrees(folder) if workload == "degrees" else _communities(folder)
            case "kmeans" | "images":
                views = _kmeans(folder) if workload == "kmeans" else _images(folder)
            case "modules" | "threshold":
                from cuesta.workloads import modules

                views = modules.views(workload, folder, LIMITS.rows)
            case "assemble":
                from cuesta.workloads import assembly

                views = assembly.views(folder, parameters, LIMITS.rows)
            case _:
                views = []
    except (OSError, ValueError, IndexError):
        return []
    return views[: LIMITS.views]


def _pairs(folder: Path, index: int) -> list[View]:
    """Preview scores of pairs, and the strongest pairs, from KINC version-1 text."""
    path = folder / "pairs.txt"
    if not path.is_file():
        return []
    lines = _Lines(path)
    cells: Counter[int] = Counter()
    best: list[_Ranked] = []
    unscored = 0
    for line in lines:
        fields = line.split(b"\t", 10)
        scores = fields[9].split(b",") if len(fields) == 11 else []
        score = float(scores[index]) if index < len(scores) else math.nan
        if math.isnan(score):
            unscored += 1
            continue
        cells[_cell(score)] += 1
        pair = (-int(fields[0]), -int(fields[1]), -int(fields[2]))
        _keep_best(best, (abs(score), pair, score, int(fields[4])))
    views = _score_views(cells, "Scores of the pairs kept", lines.note(unscored))
    if lines.is_complete and best:
        best.sort(reverse=True)
        wanted = {-gene for _, pair, _, _ in best for gene in pair[:2]}
        names = named.genes(_table(folder / "genes.tsv"), wanted)
        rows = [
            [*(names.get(-gene, str(-gene)) for gene in pair[:2]), str(-pair[2]), _fixed(score),
             samples]
            for _, pair, score, samples in best
        ]  # fmt: skip
        columns = ["gene 1", "gene 2", "cluster", "score", "samples"]
        views.append({"kind": "table", "title": "Strongest pairs", "columns": columns,
                      "rows": rows})  # fmt: skip
    return views


def _join(folder: Path) -> list[View]:
    """Preview the sides of pairs, the differences of their scores, and the largest of these."""
    path = folder / "pairs.tsv"
    if not path.is_file():
        return []
    lines = _Lines(path)
    sides: Counter[str] = Counter()
    cells: Counter[int] = Counter()
    most: list[tuple[float, _Pair, list[bytes]]] = []
    for line in lines:
        fields = line.rstrip(b"\r\n").split(b"\t")
        if len(fields) not in (7, 9) or fields[0] == b"gene1":
            continue
        sides[fields[3].decode("ascii", "replace")] += 1
        difference = float(fields[6]) if fields[6] else math.nan
        if not math.isnan(difference):
            cells[_cell(difference)] += 1
            if difference and (len(most) < LIMITS.rows or abs(difference) >= most[0][0]):
                pair = (-int(fields[0]), -int(fields[1]), -int(fields[2]))
                _keep_best(most, (abs(difference), pair, fields))
    note = lines.note(0)
    items = [[name, sides[key]] for key, name in _SIDES.items() if sides[key]]
    views: list[View] = []
    if len(items) > 1:
        views.append(_with_note({"kind": "bars", "title": "Where the pairs were found",
                                 "x": "pairs", "items": items}, note))  # fmt: skip
    different = _score_views(cells, "How far the two scores of a pair differ", note)
    views += [{**view, "x": "second score less first"} for view in different]
    if lines.is_complete and most:
        views.append(_changes([fields for _, _, fields in sorted(most, reverse=True)]))
    return views


def _changes(rows: list[list[bytes]]) -> View:
    """Return a table of these rows of a join."""
    columns = ["gene 1", "gene 2", "cluster", "first score", "second score", "difference"]
    texts = [[field.decode("utf-8", "replace") for field in row] for row in rows]
    shown = [
        [*(named.gene(*gene) for gene in zip(row[:2], row[7:] or ("", ""), strict=True)), row[2],
         *(_fixed(float(score)) for score in row[4:7])]
        for row in texts
    ]  # fmt: skip
    title = "Pairs whose scores differ most"
    return {"kind": "table", "title": title, "columns": columns, "rows": shown}


_SIDES = {"both": "in both", "left": "in the first only", "right": "in the second only"}


def _degrees(folder: Path) -> list[View]:
    """Preview the degree distribution, and the genes with the most edges."""
    views: list[View] = []
    rows = [[int(cell) for cell in row] for row in _table(folder / "distribution.tsv")]
    series = []
    dropped = False
    for column, name in ((3, "total"), (1, "in"), (2, "out")):
        points = [[row[0], row[column]] for row in rows if row[0] > 0 and row[column] > 0]
        thinned = _thinned(points)
        dropped = dropped or len(thinned) < len(points)
        if thinned:
            series.append({"name": name, "points": thinned})
    if series:
        alone = sum(row[3] for row in rows if row[0] == 0)
        notes = [f"{_genes(alone)} no edge."] if alone else []
        notes += ["Only some of the points are drawn."] if dropped else []
        view: View = {"kind": "distribution", "title": "Degree distribution",
                      "x": "edges of a gene", "y": "genes", "series": series}  # fmt: skip
        views.append(_with_note(view, " ".join(notes)))
    genes = (([int(cell) for cell in row[:4]], row[4:]) for row in _table(folder / "degrees.tsv"))
    top = heapq.nsmallest(LIMITS.rows, genes, key=lambda row: (-row[0][3], row[0][0]))
    top = [row for row in top if row[0][3] > 0]
    if top:
        columns = ["gene", "in", "out", "total"]
        hubs = [[named.gene(str(gene), *name), *degrees] for (gene, *degrees), name in top]
        views.append({"kind": "table", "title": "Genes with the most edges", "columns": columns,
                      "rows": hubs})  # fmt: skip
    return views


def _communities(folder: Path) -> list[View]:
    """Preview the sizes of communities, and the genes in the largest."""
    path = folder / "communities.tsv"
    members = Counter(int(row[1]) for row in _table(path))
    genes = sum(members.values())
    real = {community: size for community, size in members.items() if size > 1}
    if not real:
        return []
    alone = len(members) - len(real)
    note = f"{_genes(alone)} no community with another gene." if alone else ""
    ranked = heapq.nsmallest(LIMITS.rows, real.items(), key=lambda item: (-item[1], item[0]))
    views: list[View] = []
    if len(set(real.values())) > LIMITS.rows:
        points = sorted([size, many] for size, many in Counter(real.values()).items())
        view: View = {"kind": "distribution", "title": "Community sizes",
                      "x": "genes in a community", "y": "communities",
                      "series": [{"name": "communities", "points": _thinned(points)}]}  # fmt: skip
    else:
        items = [[f"community {community}", size] for community, size in ranked]
        view = {"kind": "bars", "title": "Largest communities", "x": "genes", "items": items}
    views.append(_with_note(view, note))
    table = [[str(community), size, f"{100 * size / genes:.2f} %"] for community, size in ranked]
    columns = ["community (its smallest gene)", "genes", "of all genes"]
    first = named.first_members(_table(path), dict(ranked), LIMITS.members)
    if first:
        columns.append("its first genes")
        for row, (community, size) in zip(table, ranked, strict=True):
            more = ", …" if size > len(first[community]) else ""
            row.append(", ".join(first[community]) + more)
    views.append({"kind": "table", "title": "Largest communities", "columns": columns,
                  "rows": table})  # fmt: skip
    return views


def _kmeans(folder: Path) -> list[View]:
    """Preview the sizes of clusters, and the moves of the centres."""
    clusters = [(row[0], int(row[1]), float(row[2])) for row in _table(folder / "centres.tsv")]
    if not clusters:
        return []
    top = heapq.nsmallest(LIMITS.rows, clusters, key=lambda row: (-row[1], int(row[0])))
    views: list[View] = [
        {"kind": "bars", "title": "Largest clusters", "x": "points",
         "items": [[f"cluster {number}", size] for number, size, _ in top]},
        {"kind": "table", "title": "Largest clusters",
         "columns": ["cluster", "points", "mean squared distance to the centre"],
         "rows": [[number, size, inertia / max(size, 1)] for number, size, inertia in top]},
    ]  # fmt: skip
    moved = [[row[0], float(row[1])] for row in _table(folder / "iterations.tsv")]
    shown = moved if len(moved) <= LIMITS.rows else [*moved[: LIMITS.rows - 1], moved[-1]]
    columns = ["iteration", "furthest move of a centre"]
    table: View = {"kind": "table", "title": "Iterations", "columns": columns, "rows": shown}
    note = "Only the first ones and the last one are shown." if len(shown) < len(moved) else ""
    return [*views, _with_note(table, note)]


def _images(folder: Path) -> list[View]:
    """Preview the images with the most objects."""
    rows = [row for row in _table(folder / "features.tsv") if row[0] != "all"]
    if not rows:
        return []
    top = heapq.nsmallest(LIMITS.rows, rows, key=lambda row: (-int(row[7]), int(row[0])))
    table: View = {
        "kind": "table",
        "title": "Images with the most objects",
        "columns": ["image", "file", "page", "size", "threshold", "pixels", "objects", "largest"],
        "rows": [
            [image, Path(file).name, page, f"{height} x {width}", threshold, *map(int, counts)]
            for image, file, page, height, width, threshold, *counts in top
        ],
    }
    return [table]


class _Lines:
    """The lines of a text file; for a large one, the lines of evenly spaced windows.

    All lines are assumed to have about the length of the first ones.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size_bytes = path.stat().st_size
        with path.open("rb") as file:
            lengths = [len(line) for line, _ in zip(file, range(LIMITS.windows), strict=False)]
        line_bytes = sum(lengths) / max(1, len(lengths))
        self._window_bytes = math.ceil(LIMITS.lines * line_bytes / LIMITS.windows) + 1
        self.is_complete = self._size_bytes <= LIMITS.windows * self._window_bytes

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            if self.is_complete:
                yield from (line for line in file if _has_content(line))
                return
            last = self._size_bytes - self._window_bytes
            for window in range(LIMITS.windows):
                file.seek(window * last // (LIMITS.windows - 1))
                text = file.read(self._window_bytes)
                inner = text[text.find(b"\n") + 1 : text.rfind(b"\n") + 1]
                yield from (line for line in io.BytesIO(inner) if _has_content(line))

    def note(self, unscored: int) -> str:
        """Describe what the views of these lines omit."""
        notes = [f"{unscored:,} rows have no score."] if unscored else []
        if not self.is_complete:
            share = 100 * LIMITS.windows * self._window_bytes / self._size_bytes
            notes.append(f"From an even sample, {share:.2g} % of the answer.")
        return " ".join(notes)


def _has_content(line: bytes) -> bool:
    return not line.startswith(b"#") and line not in (b"\n", b"\r\n")


def _table(path: Path) -> Iterator[list[str]]:
    """Yield rows below the header of a tab-separated answer file; none without the file."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        next(file, None)
        for line in file:
            yield line.rstrip("\r\n").split("\t")


def _keep_best(best: list[_Candidate], candidate: _Candidate) -> None:
    """Insert a candidate into the heap of the strongest."""
    if len(best) < LIMITS.rows:
        heapq.heappush(best, candidate)
    elif candidate > best[0]:
        heapq.heapreplace(best, candidate)


def _fixed(score: float) -> str:
    return f"{score:.6f}".replace("-", "\u2212")


def _cell(score: float) -> int:
    """Return the number of the thousandth that contains `score`, symmetric about zero.

    Cell k has k to k + 1 thousandths, cell -1-k the negatives of these, so that a filter on the
    absolute score cuts at the edge of a cell. A score of exactly 1 is in the last cell below it.
    """
    size = abs(score)
    cell = 999 if size == 1 else math.floor(size * 1000 + 1e-7)
    return cell if score >= 0 else -1 - cell


def _score_views(cells: Counter[int], title: str, note: str) -> list[View]:
    """Return a histogram of scores counted by `_cell`; none for fewer than two rows."""
    if cells.total() < 2:
        return []
    low, high = min(cells), max(cells)
    width = next(step for step in _widths() if high // step - low // step < LIMITS.bins)
    counts: Counter[int] = Counter()
    for cell, many in cells.items():
        counts[cell // width] += many
    bins = [
        [index * width / 1000, (index + 1) * width / 1000, counts[index]]
        for index in range(min(counts), max(counts) + 1)
    ]
    view: View = {"kind": "histogram", "title": title, "x": "score", "y": "pairs", "bins": bins}
    return [_with_note(view, note)]


def _widths() -> Iterator[int]:
    """Yield ascending bin widths in thousandths, which are round numbers, without end."""
    power = 1
    while True:
        yield from (power * factor for factor in (1, 2, 5))
        power *= 10


def _thinned(points: list[list[int]]) -> list[list[int]]:
    """Thin points to at most `LIMITS.points`, evenly spread over the logarithm of x."""
    if len(points) <= LIMITS.points:
        return points
    low, high = math.log(points[0][0]), math.log(points[-1][0])
    by_place: dict[int, list[int]] = {}
    for point in points:
        place = int((LIMITS.points - 1) * (math.log(point[0]) - low) / (high - low))
        by_place.setdefault(place, point)
    return list(by_place.values())


def _genes(number: int) -> str:
    return "1 gene has" if number == 1 else f"{number:,} genes have"


def _with_note(view: View, note: str) -> View:
    return {**view, "note": note} if note else view
