"""`dataflow` as the papers' programmers write it, `--kernels numpy` and `c`: code that the engines
Spark and MPI share. `--kernels native` is `crates/dataflow`, in rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.engines.shares import file_share
from cuesta.errors import InputError
from cuesta.trial import Trial, is_remote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Block = NDArray[np.float64]

Sums = tuple[int, int, int]
"""Sums of coordinates in units of 2^-16."""

UNITS = 1 << 16
SUM_MAX = 1 << 37
"""Largest sum of absolute values in a block for exact sums."""
SHIFT_MAX = 1000
BLOCKS_MAX = 1 << 24
STREAM = 5
VECTOR_BYTES = 24
PIECE_VECTORS = 1 << 15
"""Vectors that NumPy processes at once: in addition to a block it needs memory for a piece."""
PIECE_BYTES = 2 << 20
"""Memory of a piece, with NumPy's temporary arrays."""
SUMS_BYTES = 3 * VECTOR_BYTES
"""Memory of a block's sums in ranks: 2 copies while they are reduced, 1 where they are gathered."""
ANSWER_FILE = "averages.tsv"
HEADER = "block\tvectors\tsum_x\tsum_y\tsum_z\tmean_x\tmean_y\tmean_z\n"

_MASK = (1 << 64) - 1
_G = 0x9E3779B97F4A7C15


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The checked parameters of a run, for ranks and executors.

    Attributes
    ----------
    blocks, vectors
        Totals of the run.
    block_vectors
        Vectors of each block but the last.
    files
        Files to read vectors from, with the number of vectors in each; none to generate them.
    file_bytes
        Bytes of the numbers in the files.
    """

    blocks: int
    vectors: int
    block_vectors: int
    files: tuple[tuple[str, int], ...]
    file_bytes: int
    shift: tuple[float, float, float]
    stages: str
    keep: str
    seed: int

    def first(self, block: int) -> int:
        """Return the number of the first vector of a block."""
        return block * self.block_vectors

    def vectors_of(self, block: int) -> int:
        """Return the number of vectors of a block: fewer in the last, where the files end."""
        return min(self.block_vectors, self.vectors - self.first(block))

    def limit(self) -> float:
        """Return the largest absolute value in a file for which all sums are exact."""
        return float(SUM_MAX // self.block_vectors - SHIFT_MAX)

    @property
    def stores(self) -> bool:
        """Whether the run ever has a complete block in memory."""
        return self.stages == "separate"

    @property
    def making(self) -> str:
        """The phase that makes the blocks."""
        return "load" if self.files else "generate"

    @property
    def phase_names(self) -> tuple[str, ...]:
        """The phases of a run, on every engine."""
        stages = ("pipeline",) if self.keep == "none" else (self.making, "shift", "average")
        return (*stages, "reduce", "write")

    def amounts(self, phase: str) -> dict[str, int]:
        """Return the rows of a phase, and the bytes that it must move, if any."""
        moved = self.vectors * VECTOR_BYTES
        moves = {
            "pipeline": self.file_bytes,
            self.making: self.file_bytes + moved,
            "shift": 2 * moved,
            "average": moved,
        }
        rows = self.vectors if phase in moves else self.blocks
        return {"rows": rows} | ({"bytes": moves[phase]} if moves.get(phase) else {})


def plan(parameters: Mapping[str, Any], seed: int, inputs: Sequence[str]) -> Plan:
    """Check parameters and inputs. Errors: `InputError` naming the option or the file."""
    if parameters["stages"] == "fused" and parameters["keep"] != "none":
        raise InputError(
            "dataflow: --stages fused stores nothing to keep; give --stages separate or --keep none"
        )
    each = parameters["block_vectors"]
    vectors, file_bytes = parameters["blocks"] * each, 0
    files: tuple[tuple[str, int], ...] = ()
    if inputs:
        files, file_bytes = _files(inputs)
        vectors = sum(count for _, count in files)
    blocks = -(-vectors // each)
    if blocks > BLOCKS_MAX:
        raise InputError(
            f"dataflow: the files fill {blocks} blocks, up to {BLOCKS_MAX} work; give more "
            "--block-vectors"
        )
    return Plan(
        blocks=blocks,
        vectors=vectors,
        block_vectors=each,
        files=files,
        file_bytes=file_bytes,
        shift=_shift(parameters["shift"]),
        stages=parameters["stages"],
        keep=parameters["keep"],
        seed=seed,
    )


def _files(inputs: Iterable[str]) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the files of the inputs with the vectors in each, and the bytes of all numbers."""
    import numpy as np

    files, size_bytes = [], 0
    for name in inputs:
        if is_remote(name):
            raise InputError(f"dataflow: {name} is no file; --kernels native reads it")
        source = Path(name)
        for path in sorted(source.glob("*.npy")) if source.is_dir() else [source]:
            try:
                array = np.load(path, mmap_mode="r")
            except (OSError, ValueError) as error:
                raise InputError(
                    f"dataflow: {path} is no .npy file: {error}; write it by numpy.save"
                ) from None
            if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind != "f":
                raise InputError(
                    f"dataflow: {path} has {array.dtype} of shape {array.shape}; give arrays of "
                    "n x 3 float32 or float64"
                )
            files.append((str(path), len(array)))
            size_bytes += array.nbytes
    return tuple(files), size_bytes


def _shift(text: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(field) for field in text.split(","))
    except ValueError:
        x = y = z = float("nan")
    if not all(abs(value) <= SHIFT_MAX for value in (x, y, z)):
        raise InputError(
            f'dataflow: --shift is "{text}", give three numbers from -1000 to 1000 separated by '
            "commas, such as 25,-12.5,3"
        )
    return _rounded(x), _rounded(y), _rounded(z)


def _rounded(value: float) -> float:
    """Round to the nearest unit, half away from zero."""
    units = int(abs(value) * UNITS + 0.5)
    return (units if value >= 0 else -units) / UNITS


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Consecutive vectors: `count` from number `first` on, and `stored` if they are in a file."""

    first: int
    count: int
    path: str = ""
    stored: NDArray[Any] | None = None


def pieces_of(plan_: Plan, number: int) -> Iterator[Piece]:
    """Yield block `number` as pieces of up to `PIECE_VECTORS`."""
    import numpy as np

    first, count = plan_.first(number), plan_.vectors_of(number)
    if not plan_.files:
        for start in range(0, count, PIECE_VECTORS):
            yield Piece(first=first + start, count=min(PIECE_VECTORS, count - start))
        return
    share = file_share(plan_.files, first, count)
    offset, remaining = share.first, share.count
    for path in share.inputs:
        vectors = np.load(path, mmap_mode="r")[offset : offset + remaining]
        for start in range(0, len(vectors), PIECE_VECTORS):
            stored = vectors[start : start + PIECE_VECTORS]
            yield Piece(first=first, count=len(stored), path=path, stored=stored)
            first += len(stored)
        offset, remaining = 0, remaining - len(vectors)


class NumpyKernels:
    """The stages on arrays of 3-vectors, in idiomatic NumPy."""

    def generate(self, vectors: Block, seed: int, first: int) -> None:
        """Fill an array with generated vectors from number `first` on."""
        import numpy as np

        axes = vectors.reshape(-1, 3)
        key = _mix((_mix(seed ^ _G) + STREAM) & _MASK)
        words = np.arange(first, first + len(axes), dtype=np.uint64)
        words *= np.uint64(_G)
        words += np.uint64(key)
        _mix_array(words)
        words ^= np.uint64(key)
        _mix_array(words)
        for axis in range(3):
            bits = (words >> np.uint64(20 * axis)) & np.uint64(0xFFFFF)
            np.multiply(bits, 125 / UNITS, out=axes[:, axis])
        vectors -= 1000.0

    def load(self, vectors: Block, piece: Piece, limit: float) -> None:
        """Fill an array with vectors of a file, rounded to units. Errors: `InputError`."""
        import numpy as np

        assert piece.stored is not None
        vectors[:] = piece.stored.reshape(-1)
        if not (np.abs(vectors) <= limit).all():
            raise InputError(
                f"dataflow: a number of {piece.path} is above {limit} or none; give smaller "
                "numbers, or fewer vectors a block"
            )
        vectors *= UNITS
        np.rint(vectors, out=vectors)
        vectors /= UNITS

    def make(self, vectors: Block, piece: Piece, plan_: Plan) -> None:
        """Fill an array with a piece. Errors: `InputError`."""
        if piece.stored is None:
            self.generate(vectors, plan_.seed, piece.first)
        else:
            self.load(vectors, piece, plan_.limit())

    def shift(self, vectors: Block, by: tuple[float, float, float]) -> None:
        """Add the vector `by` to each vector."""
        axes = vectors.reshape(-1, 3)
        axes += by

    def sum(self, vectors: Block) -> Sums:
        """Return the sums of the coordinates."""
        x, y, z = (int(value * UNITS) for value in vectors.reshape(-1, 3).sum(axis=0))
        return x, y, z


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


def make_block(kernels: NumpyKernels, plan_: Plan, number: int, room: Block) -> Block:
    """Generate or load block `number` at the start of `room`; return it. Errors: `InputError`."""
    done = 0
    for piece in pieces_of(plan_, number):
        end = done + 3 * piece.count
        kernels.make(room[done:end], piece, plan_)
        done = end
    return room[:done]


def make_room(plan_: Plan) -> Block:
    """Allocate the array for `sums_of`: a block, or a piece where all stages are one loop."""
    import numpy as np

    vectors = plan_.vectors_of(0)
    return np.empty(3 * (vectors if plan_.stores else min(vectors, PIECE_VECTORS)))


def sums_of(kernels: NumpyKernels, plan_: Plan, number: int, room: Block) -> Sums:
    """Run all stages on a block, one by one or fused for each piece. Errors: `InputError`."""
    if plan_.stores:
        block = make_block(kernels, plan_, number, room)
        kernels.shift(block, plan_.shift)
        return kernels.sum(block)
    total = (0, 0, 0)
    for piece in pieces_of(plan_, number):
        vectors = room[: 3 * piece.count]
        kernels.make(vectors, piece, plan_)
        kernels.shift(vectors, plan_.shift)
        total = add(total, kernels.sum(vectors))
    return total


KERNELS = ("native", "numpy")


def kernels_of(trial: Trial, choices: Iterable[str] = KERNELS) -> str:
    """Return the `--kernels` of a trial. Errors: `InputError` where its workload has none such."""
    kernels = trial.engine_options.get("kernels", "native")
    if kernels not in choices:
        raise InputError(f"--kernels is {kernels}, choose from {', '.join(choices)}")
    if kernels != "native" and trial.workload != "dataflow":
        raise InputError(
            f"--kernels {kernels} is for dataflow; {trial.workload} runs the native kernels"
        )
    return kernels


def add(left: Sums, right: Sums) -> Sums:
    """Add sums by coordinate."""
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def write_table(path: Path, sums: Iterable[Sums], total: Sums, plan: Plan) -> int:
    """Write the answer file from the sums of the blocks in order and of all; return its bytes."""
    with path.open("w", encoding="ascii") as file:
        file.write(HEADER)
        for block, block_sums in enumerate(sums):
            file.write(_line(str(block), plan.vectors_of(block), block_sums))
        file.write(_line("all", plan.vectors, total))
        return file.tell()


def _line(block: str, vectors: int, sums: Sums) -> str:
    fields = [block, str(vectors), *map(str, sums), *(_mean(total, vectors) for total in sums)]
    return "\t".join(fields) + "\n"


def _mean(total: int, vectors: int) -> str:
    """Format a mean with six decimals, rounded half away from zero, by integer arithmetic."""
    divisor = vectors * UNITS
    rounded = (2 * abs(total) * 10**6 + divisor) // (2 * divisor)
    sign = "-" if total < 0 and rounded else ""
    return f"{sign}{rounded // 10**6}.{rounded % 10**6:06}"
