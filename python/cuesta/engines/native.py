"""The engine `native`: the Rust kernels on the cores of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cuesta.engines import Capabilities, Engine, Progress
from cuesta.errors import EngineMissing
from cuesta.native import from_response, native_module, to_request
from cuesta.trial import Outcome, Trial
from cuesta.workloads import WORKLOAD_NAMES, get_workload


@dataclass(frozen=True)
class NativeEngine(Engine):
    """Runs every workload in this process; Ctrl-C stops it within a tenth of a second."""

    progress: Progress | None = None
    name: str = "native"
    workloads: frozenset[str] = frozenset(WORKLOAD_NAMES)
    capabilities = Capabilities(reads_uris=True)

    def missing(self) -> str | None:
        """Return None where the native module loads, else its error."""
        try:
            native_module()
        except EngineMissing as error:
            return str(error)
        return None

    def with_progress(self, progress: Progress) -> Engine:
        """Return a copy of the engine that calls `progress` with bytes done and in total."""
        return NativeEngine(progress=progress)

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`. Errors: `InputError`."""
        module, workload = native_module(), get_workload(trial.workload)
        trial, converted = workload.readable(trial, scratch)
        request = to_request(trial, output, scratch)
        response = from_response(module.run(trial.workload, request, self.progress))
        return Outcome(
            phases=(*converted, *map(workload.phase, response["phases"])),
            counts=response["counts"],
            versions={"cuesta-native": module.__version__},
        )
