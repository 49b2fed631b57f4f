"""A tiny case of each workload, as Python keywords and as words of the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assemblykit import drawn, reads_of, write_fastq
from cuesta.cli.app import call


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run: its files, its keywords, and the same options as words of the command line."""

    workload: str
    inputs: tuple[str, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "-".join([self.workload, *map(str, self.keywords.values())])


CASES = (
    Case(
        workload="correlate", inputs=("matrix",), keywords={"min_abs_score": 0.3},
        words=("--min-abs-score", "0.3"),
    ),
    Case(
        workload="correlate", inputs=("matrix",), keywords={"format": "pairs"},
        words=("--format", "pairs"),
    ),
    Case(
        workload="scan", inputs=("pairs",), keywords={"min_abs_score": 0.5, "max_missing": 2},
        words=("--min-abs-score", "0.5", "--max-missing", "2"),
    ),
    Case(
        workload="join", inputs=("pairs", "other"), keywords={"how": "outer"},
        words=("--how", "outer"),
    ),
    Case(workload="degrees", inputs=("pairs",), keywords={"genes": 80}, words=("--genes", "80")),
    Case(
        workload="communities", inputs=("pairs",), keywords={"method": "louvain", "threads": 1},
        words=("--method", "louvain", "--threads", "1"),
    ),
    Case(workload="load", inputs=("pairs",)),
    Case(
        workload="dataflow", inputs=(),
        keywords={"blocks": 3, "block_vectors": 100, "shift": [1, -2.5, 3]},
        words=("--blocks", "3", "--block-vectors", "100", "--shift", "1,-2.5,3"),
    ),
    Case(
        workload="sort", inputs=("records",), keywords={"memory": "2GiB"},
        words=("--memory", "2GiB"),
    ),
    Case(
        workload="kmeans", inputs=("points",),
        keywords={"clusters": 4, "init": "kmeans++", "seed": 7},
        words=("--clusters", "4", "--init", "kmeans++", "--seed", "7"),
    ),
    Case(
        workload="images", inputs=("images",), keywords={"min_pixels": 3},
        words=("--min-pixels", "3"),
    ),
    Case(
        workload="threshold", inputs=("matrix",), keywords={"step": 0.1}, words=("--step", "0.1"),
    ),
    Case(
        workload="modules", inputs=("matrix",),
        keywords={"min_module_size": 5, "as_": "wgcna-1.72"},
        words=("--min-module-size", "5", "--as", "wgcna-1.72"),
    ),
    Case(workload="assemble", inputs=("reads",), keywords={"k": 31}, words=("-k", "31")),
    Case(
        workload="ioread", inputs=("records",), keywords={"request_bytes": 700, "skip_bytes": 50},
        words=("--request-bytes", "700", "--skip-bytes", "50"),
    ),
)  # fmt: skip
"""All keywords but `k` have long options."""

_MAKE = {
    "pairs": "clusters --genes 60 --samples 20 --pairs 500 --seed 1",
    "other": "clusters --genes 60 --samples 20 --pairs 500 --seed 1 --variant 1",
    "matrix": "matrix --genes 30 --samples 40 --seed 1",
    "records": "tera --rows 50",
    "points": "points --rows 100 --dimensions 3 --clusters 4",
    "images": "images --images 2 --height 64 --width 64 --discs 3",
}
_ENDINGS = {"points": ".npy", "images": ".npy"}


def make_files(folder: Path) -> dict[str, Path]:
    """Write the inputs of all cases; return their paths by name."""
    files = {name: folder / f"{name}{_ENDINGS.get(name, '.txt')}" for name in _MAKE}
    for name, words in _MAKE.items():
        assert call(["data", "make", *words.split(), "-o", str(files[name])]) == 0
    reads = reads_of(drawn(3000, seed=1), depth=30, errors=0.002, seed=2)
    return files | {"reads": write_fastq(folder / "reads.fq", reads)}
