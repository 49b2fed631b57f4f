"""What the engines other than native share for `dataflow`: its plan, its kernels, its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cuesta.errors import InputError
from cuesta.lab.request import native_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Block = NDArray[np.float64]

Sums = tuple[int, int, int]
"""Sums of coordinates in units of 2^-16."""

UNITS = 1 << 16
STREAM = 5
VECTOR_BYTES = 24
ANSWER_FILE = "averages.tsv"
HEADER = "block\tvectors\tsum_x\tsum_y\tsum_z\tmean_x\tmean_y\tmean_z\n"

_MASK = (1 << 64) - 1
_G = 0x9E3779B97F4A7C15


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The parameters of a run, as ranks and executors need them."""

    blocks: int
    block_vectors: int
    shift: tuple[float, float, float]
    stages: str
    keep: str
    seed: int

    def first(self, block: int) -> int:
        """Number of the first vector of a block."""
        return block * self.block_vectors


def plan(parameters: Mapping[str, Any], seed: int) -> Plan:
    """Check what a parameter file cannot. Errors: `InputError` naming the option."""
    if parameters["stages"] == "fused" and parameters["keep"] != "none":
        raise InputError(
            "dataflow: --stages fused stores nothing to keep; give --stages separate or --keep none"
        )
    return Plan(
        blocks=parameters["blocks"],
        block_vectors=parameters["block_vectors"],
        shift=_shift(parameters["shift"]),
        stages=parameters["stages"],
        keep=parameters["keep"],
        seed=seed,
    )


def _shift(text: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(field) for field in text.split(","))
    except ValueError:
        x = y = z = float("nan")
    if not all(abs(value) <= 1000 for value in (x, y, z)):
        raise InputError(
            f'dataflow: --shift is "{text}", give three numbers from -1000 to 1000 separated by '
            "commas, such as 25,-12.5,3"
        )
    return _rounded(x), _rounded(y), _rounded(z)


def _rounded(value: float) -> float:
    """To the nearest unit, half away from zero."""
    units = int(abs(value) * UNITS + 0.5)
    return (units if value >= 0 else -units) / UNITS


class Kernels(Protocol):
    """The stages on one block: `3 * vectors` doubles, C-contiguous."""

    def generate(self, block: Block, seed: int, first: int) -> None:
        """Fill the block with the vectors from number `first` on."""
        ...

    def shift(self, block: Block, by: tuple[float, float, float]) -> None:
        """Add a vector to each."""
        ...

    def sum(self, block: Block) -> Sums:
        """The sums of the block."""
        ...

    def fused(self, seed: int, first: int, vectors: int, by: tuple[float, float, float]) -> Sums:
        """All stages without a block."""
        ...


class NativeKernels:
    """The Rust kernels."""

    def generate(self, block: Block, seed: int, first: int) -> None:
        """See `Kernels`."""
        native_module().dataflow_generate(block, seed, first)

    def shift(self, block: Block, by: tuple[float, float, float]) -> None:
        """See `Kernels`."""
        native_module().dataflow_shift(block, by)

    def sum(self, block: Block) -> Sums:
        """See `Kernels`."""
        x, y, z = native_module().dataflow_sum(block)
        return x, y, z

    def fused(self, seed: int, first: int, vectors: int, by: tuple[float, float, float]) -> Sums:
        """See `Kernels`."""
        x, y, z = native_module().dataflow_fused(seed, (first, vectors), by)
        return x, y, z


class NumpyKernels:
    """What a good Python programmer writes without us; `fused` still stores the block."""

    def generate(self, block: Block, seed: int, first: int) -> None:
        """See `Kernels`."""
        import numpy as np

        vectors = block.size // 3
        key = _mix((_mix(seed ^ _G) + STREAM) & _MASK)
        words = np.arange(first, first + vectors, dtype=np.uint64)
        words *= np.uint64(_G)
        words += np.uint64(key)
        _mix_array(words)
        words ^= np.uint64(key)
        _mix_array(words)
        axes = block.reshape(vectors, 3)
        for axis in range(3):
            bits = (words >> np.uint64(20 * axis)) & np.uint64(0xFFFFF)
            np.multiply(bits, 125 / UNITS, out=axes[:, axis])
        block -= 1000.0

    def shift(self, block: Block, by: tuple[float, float, float]) -> None:
        """See `Kernels`."""
        axes = block.reshape(-1, 3)
        axes += by

    def sum(self, block: Block) -> Sums:
        """See `Kernels`."""
        x, y, z = (int(value * UNITS) for value in block.reshape(-1, 3).sum(axis=0))
        return x, y, z

    def fused(self, seed: int, first: int, vectors: int, by: tuple[float, float, float]) -> Sums:
        """See `Kernels`."""
        import numpy as np

        block = np.empty(3 * vectors)
        self.generate(block, seed, first)
        self.shift(block, by)
        return self.sum(block)


def _mix(word: int) -> int:
    word ^= word >> 30
    word = word * 0xBF58476D1CE4E5B9 & _MASK
    word ^= word >> 27
    word = word * 0x94D049BB133111EB & _MASK
    return word ^ word >> 31


def _mix_array(words: NDArray[np.uint64]) -> None:
    import numpy as np

    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)


KERNELS: Mapping[str, type[Kernels]] = {"native": NativeKernels, "numpy": NumpyKernels}


def write_table(path: Path, sums: Iterator[Sums], plan: Plan) -> int:
    """Write the answer file from the sums of the blocks in order; return its bytes."""
    total = [0, 0, 0]
    with path.open("w", encoding="ascii") as file:
        file.write(HEADER)
        for block, found in enumerate(sums):
            total = [one + more for one, more in zip(total, found, strict=True)]
            file.write(_line(str(block), plan.block_vectors, found))
        file.write(_line("all", plan.blocks * plan.block_vectors, total))
        return file.tell()


def _line(block: str, vectors: int, sums: list[int] | Sums) -> str:
    fields = [block, str(vectors), *map(str, sums), *(_mean(one, vectors) for one in sums)]
    return "\t".join(fields) + "\n"


def _mean(total: int, vectors: int) -> str:
    """Six decimals, half away from zero, from whole numbers."""
    divisor = vectors * UNITS
    rounded = (2 * abs(total) * 10**6 + divisor) // (2 * divisor)
    sign = "-" if total < 0 and rounded else ""
    return f"{sign}{rounded // 10**6}.{rounded % 10**6:06}"
