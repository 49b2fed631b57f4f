"""The Rust kernels: text in, text out, columns as raw little-endian bytes.

`run`, `annotate` and `verify` take and give JSON; see `cuesta.engines.native` for the fields. All
raise the classes of `cuesta.errors`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

from typing_extensions import Buffer

from cuesta.engines.assembly import Feed, Workers

__all__ = [
    "WITH_ROUNDS",
    "WORKLOADS",
    "AnswerFiles",
    "Block",
    "Leader",
    "Worker",
    "__version__",
    "annotate",
    "answer_checksums",
    "assembly_control",
    "assembly_divide",
    "assembly_divide_trusted",
    "assembly_goes_on",
    "assembly_lead",
    "assembly_left",
    "assembly_min_count",
    "assembly_order",
    "assembly_part",
    "assembly_program",
    "assembly_split",
    "assembly_spread",
    "assembly_step",
    "ceiling",
    "data_make",
    "dataflow_files",
    "dataflow_fused",
    "dataflow_generate",
    "dataflow_load",
    "dataflow_shift",
    "dataflow_sum",
    "gene_names",
    "map_bytes",
    "map_split",
    "parameters",
    "run",
    "splits",
    "verify",
]

__version__: str
WORKLOADS: list[str]
WITH_ROUNDS: list[str]

def run(
    workload: str,
    request: str,
    progress: Callable[[int, int], None] | None = None,
) -> str: ...
def verify(
    workload: str,
    request: str,
    progress: Callable[[int, int], None] | None = None,
) -> str: ...
def annotate(
    workload: str,
    request: str,
    progress: Callable[[int, int], None] | None = None,
) -> str: ...
def gene_names(path: str) -> list[str]: ...
def answer_checksums(
    folder: Path,
    apart: Sequence[str],
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> str: ...
def splits(inputs_json: str, parameters_json: str, split_bytes: int) -> str: ...
def map_split(
    workload: str,
    parameters_json: str,
    split: tuple[str, int, int],
) -> dict[str, bytes]: ...
def map_bytes(workload: str, parameters_json: str, data: bytes) -> dict[str, bytes]: ...
def parameters(workload: str, parameters_json: str) -> str: ...
def data_make(kind: str, request_json: str) -> str: ...
def assembly_divide(
    ask: str, share: str, parts: int, only_sampled: bool
) -> tuple[bytes, list[int], int]: ...
def assembly_divide_trusted(
    ask: str, trusted: bytes, parts: int, only_sampled: bool
) -> tuple[bytes, list[int], int]: ...
def assembly_control(ask: str) -> str | None: ...
def assembly_order(control: str) -> str | None: ...
def assembly_goes_on(control: str, told: Sequence[int]) -> str: ...
def assembly_lead(request: str, workers: Workers) -> str: ...
def assembly_left(place: tuple[int, int], state: bytes, min_count: int, control: str) -> bytes: ...
def assembly_min_count(samples: list[bytes], k: int) -> int: ...
def assembly_part(request: str, ask: str, feed: Feed) -> bytes: ...
def assembly_program(
    control: str, parts: int, vertices: list[bytes], feed: Feed
) -> tuple[str, bytes]: ...
def assembly_split(inputs_json: str, share_bytes: int) -> str: ...
def assembly_spread(found: bytes, parts: int) -> tuple[bytes, list[bytes]]: ...
def assembly_step(
    place: tuple[int, int], order: str, state: bytes, messages: list[bytes]
) -> tuple[bytes, list[bytes], list[int]]: ...
def dataflow_generate(block: Buffer, seed: int, first: int) -> None: ...
def dataflow_files(inputs_json: str) -> tuple[list[tuple[Path, int]], int]: ...
def dataflow_load(block: Buffer, inputs_json: str, first: int, limit: float) -> None: ...
def dataflow_shift(block: Buffer, by: Sequence[float]) -> None: ...
def dataflow_sum(block: Buffer) -> list[int]: ...
def dataflow_fused(seed: int, vectors: tuple[int, int], by: Sequence[float]) -> list[int]: ...
def ceiling(kind: str, request_json: str) -> str: ...

@final
class AnswerFiles:
    """The files of an answer folder, from the start of an engine to the end of the run."""

    def __new__(cls, folder: Path) -> AnswerFiles: ...
    def settle(self) -> None: ...
    def finish(self) -> str: ...

@final
class Block(Buffer):
    """Bytes of a task, as a buffer."""

    def __len__(self) -> int: ...

@final
class Leader:
    """What leads a run in rounds: plans them from what the last one found."""

    def __new__(cls, workload: str, request: str, means: str) -> Leader: ...
    def next(self, found: Sequence[bytes]) -> tuple[str, bytes, list[bytes]] | None: ...
    def told(self) -> str: ...

@final
class Worker:
    """What does the tasks of a run, and the parts."""

    def __new__(cls, workload: str, request: str, means: str) -> Worker: ...
    def task(self, number: int, shared: bytes, own: bytes) -> tuple[bytes, Block, list[int]]: ...
    def take(self, place: tuple[int, int], shared: bytes, block: Buffer) -> None: ...
    def part(self, part: int, shared: bytes) -> bytes: ...
    def combine(self, shared: bytes, one: bytes, other: bytes) -> bytes: ...
