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
    "InputWatch",
    "Leader",
    "UnpackedFile",
    "Worker",
    "__version__",
    "annotate",
    "answer_checksums",
    "ceiling",
    "compression",
    "convert_edges",
    "data_make",
    "edge_list",
    "gene_names",
    "graph_layout",
    "input_facts",
    "input_list",
    "map_bytes",
    "map_split",
    "parameters",
    "point_doubt",
    "recognised",
    "require_distinct",
    "run",
    "splits",
    "store_under",
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
def recognised(workload: str, request: str) -> list[str]: ...
def require_distinct(paths: Sequence[str], compares_content: bool) -> None: ...
def edge_list(path: str) -> str | None: ...
def compression(path: str) -> str | None: ...
def convert_edges(
    list_and_names: tuple[str, str], earlier: list[str], output: str, memory_bytes: int
) -> str: ...
def gene_names(path: str) -> list[str]: ...
def input_facts(path: str) -> tuple[int, bool]: ...
def input_list(folder: str) -> list[str]: ...
def point_doubt(columns: Sequence[tuple[str, bool, bool, bool, bool]], rows: int) -> str | None: ...
def store_under() -> Path | None: ...
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
def graph_layout(
    lines: Sequence[tuple[int, int, float]], junctions: int
) -> list[tuple[float, float]]: ...
def data_make(kind: str, request_json: str) -> str: ...
def ceiling(kind: str, request_json: str) -> str: ...

@final
class AnswerFiles:
    """The files of an answer folder, from the start of an engine to the end of the run."""

    def __new__(cls, folder: Path) -> AnswerFiles: ...
    def settle(self) -> None: ...
    def finish(self, threads: int) -> str: ...

@final
class Block(Buffer):
    """Bytes of a task as a buffer."""

    def __len__(self) -> int: ...

@final
class UnpackedFile:
    """Reader of a file that decompresses each format that is recognised."""

    def __new__(cls, path: str) -> UnpackedFile: ...
    def read(self, size: int) -> bytes: ...
    def tell(self) -> int: ...

@final
class InputWatch:
    """Hears what this process reads of some inputs until it is dropped."""

    def __new__(cls, inputs: Sequence[Path | str]) -> InputWatch: ...
    def fingerprints(self) -> str: ...
    def complete(self) -> None: ...

@final
class Leader:
    """The leader of a run in rounds: plans them from the results of the last one."""

    def __new__(cls, workload: str, request: str, resources: str) -> Leader: ...
    def next(self, results: Sequence[bytes]) -> tuple[str, bytes, list[bytes]] | None: ...
    def told(self) -> str: ...

@final
class Worker:
    """The worker of the tasks and parts of a run."""

    def __new__(cls, workload: str, request: str, resources: str) -> Worker: ...
    def task(self, number: int, shared: bytes, data: bytes) -> tuple[bytes, Block, list[int]]: ...
    def take(self, place: tuple[int, int], shared: bytes, block: Buffer) -> None: ...
    def part(self, part: int, shared: bytes) -> bytes: ...
    def combine(self, shared: bytes, left: bytes, right: bytes) -> bytes: ...
