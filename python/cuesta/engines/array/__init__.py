"""The `array` engine: TileDB, the array-database side of the paper.

Gene pairs are loaded into a sparse array with the dimensions (gene1, gene2, cluster), and every
workload is a query of that array. Source: ArrayBench, section 2.2 (its SciDB programs).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cuesta.engines import Engine, Progress
from cuesta.plugins import remedy
from cuesta.trial import Outcome, Trial


@dataclass(frozen=True)
class ArrayEngine(Engine):
    """Loads the inputs into arrays, then queries them.

    Its engine options are `array`, a folder in which loaded arrays are stored for later runs
    (without it an array is in the scratch folder and removed with the run), and those that shape an
    array and its queries: `tile`, `capacity` and `budget`, see `cuesta.engines.array.options`.
    """

    progress: Progress | None = None
    name: str = "array"
    workloads: frozenset[str] = frozenset({"scan", "join", "degrees", "communities"})

    def missing(self) -> str | None:
        """Describe what to install, or return None when TileDB is installed."""
        if find_spec("tiledb") and find_spec("numpy"):
            return None
        return f"engine array needs TileDB; install it with {remedy('array')}"

    def with_progress(self, progress: Progress) -> Engine:
        """Return a copy that calls `progress` with the bytes of text loaded and their total."""
        return ArrayEngine(progress=progress)

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`. Errors: `InputError`, `EngineError`."""
        from cuesta.engines.array.work import run

        return run(trial, output, scratch, self.progress)
