"""The Rust kernels on the cores of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.engines import Engine, Progress, kmeans
from cuesta.errors import EngineMissing
from cuesta.lab.points import with_arrays
from cuesta.lab.request import from_response, native_module, to_request
from cuesta.lab.trial import Outcome, Phase, Trial
from cuesta.workloads import WORKLOAD_NAMES

_FILE_READ = "file_read_warm_bytes_per_s"
_READING = ("scan", "count", "components", "read", "read a", "read b", "load", "images")
_CEILINGS = {
    **dict.fromkeys(_READING, _FILE_READ),
    "multiply": "gemm_f32_flops_per_s",
    "shift": "memory_copy_bytes_per_s",
    "average": "memory_read_bytes_per_s",
}
"""By phase, the ceiling that bounds it."""


@dataclass(frozen=True)
class NativeEngine:
    """Runs every workload in this process; Ctrl-C stops it within a tenth of a second."""

    progress: Progress | None = None
    name: str = "native"
    workloads: frozenset[str] = frozenset(WORKLOAD_NAMES)
    reads_uris: bool = True

    def missing(self) -> str | None:
        """None where the native module loads."""
        try:
            native_module()
        except EngineMissing as error:
            return str(error)
        return None

    def with_progress(self, progress: Progress) -> Engine:
        """The same engine, calling `progress` with bytes done and in all."""
        return NativeEngine(progress=progress)

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`. Errors: `InputError`."""
        module = native_module()
        trial, converted = with_arrays(trial, scratch)
        request = to_request(trial, output, scratch)
        response = from_response(module.run(trial.workload, request, self.progress))
        return Outcome(
            phases=(*converted, *map(_phase, response["phases"])),
            counts=response["counts"],
            versions={"cuesta-native": module.__version__},
        )


def _phase(row: Mapping[str, Any]) -> Phase:
    """A phase as the native module tells it; 0 stands for a measure it does not have."""
    return Phase(
        name=row["name"],
        seconds=row["seconds"],
        bytes=row.get("bytes") or None,
        rows=row.get("rows") or None,
        flops=row.get("flops") or None,
        ceiling=_CEILINGS.get(row["name"]) or kmeans.ceiling(row),
    )
