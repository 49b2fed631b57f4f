"""The Rust kernels: text in, text out, columns as raw little-endian bytes.

`run` and `verify` take and give JSON; see `cuesta.engines.native` for the fields. All raise the
classes of `cuesta.errors`.
"""

from collections.abc import Callable, Sequence

from typing_extensions import Buffer

__all__ = [
    "__version__",
    "ceiling",
    "data_make",
    "dataflow_fused",
    "dataflow_generate",
    "dataflow_shift",
    "dataflow_sum",
    "map_bytes",
    "map_split",
    "run",
    "splits",
    "verify",
]

__version__: str

def run(
    workload: str,
    request: str,
    progress: Callable[[int, int], None] | None = None,
) -> str: ...
def verify(workload: str, request: str) -> str: ...
def splits(inputs_json: str, parameters_json: str, split_bytes: int) -> str: ...
def map_split(
    workload: str,
    parameters_json: str,
    split: tuple[str, int, int],
) -> dict[str, bytes]: ...
def map_bytes(workload: str, parameters_json: str, data: bytes) -> dict[str, bytes]: ...
def data_make(kind: str, request_json: str) -> str: ...
def dataflow_generate(block: Buffer, seed: int, first: int) -> None: ...
def dataflow_shift(block: Buffer, by: Sequence[float]) -> None: ...
def dataflow_sum(block: Buffer) -> list[int]: ...
def dataflow_fused(seed: int, vectors: tuple[int, int], by: Sequence[float]) -> list[int]: ...
def ceiling(kind: str, request_json: str) -> str: ...
