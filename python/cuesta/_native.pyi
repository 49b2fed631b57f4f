"""The Rust kernels: text in, text out, columns as raw little-endian bytes.

`run`, `annotate` and `verify` take and give JSON; see `cuesta.engines.native` for the fields. All
raise the classes of `cuesta.errors`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

from typing_extensions import Buffer

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
    "ceiling",
    "data_make",
    "gene_names",
    "input_facts",
    "input_list",
    "map_bytes",
    "map_split",
    "parameters",
    "run",
    "splits",
    "store_serve",
    "store_simulate",
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
def input_facts(path: str) -> tuple[int, bool]: ...
def input_list(folder: str) -> list[str]: ...
def answer_checksums(
    folder: Path,
    apart: Sequence[str],
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> str: ...
def splits(inputs_json: str, parameters_json: str, split_bytes: int) -> str: ...
def map_split(parameters_json: str, split: tuple[str, int, int]) -> dict[str, bytes]: ...
def map_bytes(parameters_json: str, data: bytes) -> dict[str, bytes]: ...
def parameters(workload: str, parameters_json: str) -> str: ...
def data_make(kind: str, request_json: str) -> str: ...
def store_serve(request_json: str, ready: Callable[[], object]) -> None: ...
def store_simulate(request_json: str) -> str: ...
def ceiling(kind: str, request_json: str) -> str: ...

@final
class AnswerFiles:
    """The files of an answer folder, from the start of an engine to the end of the run."""

    def __new__(cls, folder: Path) -> AnswerFiles: ...
    def settle(self) -> None: ...
    def finish(self) -> str: ...

@final
class Block(Buffer):
    """Bytes of a task, or of a block of the store, as a buffer."""

    def __len__(self) -> int: ...
    @staticmethod
    def map(path: Path, size_bytes: int) -> Block: ...

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
