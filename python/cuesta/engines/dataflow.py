"""`dataflow` as the papers' programmers write it, `--kernels numpy` and `c`: what the programs of
both engines share. `--kernels native` is `crates/dataflow`, in rounds.
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
"""What the absolute values of a block may add up to for exact sums."""
SHIFT_MAX = 1000
BLOCKS_MAX = 1 << 24
STREAM = 5
VECTOR_BYTES = 24
PIECE_VECTORS = 1 << 15
"""Vectors that NumPy goes over at once: beside a block it needs room for so many."""
PIECE_BYTES = 2 << 20
"""A piece, with the arrays that NumPy makes of one."""
SUMS_BYTES = 3 * VECTOR_BYTES
"""The sums of a block, in ranks: twice while they are reduced, and once where they are gathered."""
ANSWER_FILE = "averages.tsv"
HEADER = "block\tvectors\tsum_x\tsum_y\tsum_z\tmean_x\tmean_y\tmean_z\n"

_MASK = (1 << 64) - 1
_G = 0x9E3779B97F4A7C15


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is asked, as ranks and executors need it.

    Attributes
    ----------
    blocks, vectors
        Of the whole run.
    block_vectors
        Vectors of each block but the last.
    files
        Where vectors are read from, and how many each has; none where they are generated.
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
        """Number of the first vector of a block."""
        return block * self.block_vectors

    def vectors_of(self, block: int) -> int:
        """Vectors of a block: fewer in the last one, where the vectors of files end."""
        return min(self.block_vectors, self.vectors - self.first(block))

    def limit(self) -> float:
        """Largest number of a file, in either direction, with which every sum is exact."""
        return float(SUM_MAX // self.block_vectors - SHIFT_MAX)

    @property
    def stores(self) -> bool:
        """Whether a whole block is ever in memory."""
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
        """Rows that a phase goes over, and bytes that it has to move where it moves some."""
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
    """Check what a parameter file cannot. Errors: `InputError` naming the option or the file."""
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
    """The files behind inputs, how many vectors each has, and the bytes of all numbers."""
    import numpy as np

    files, size_bytes = [], 0
    for name in inputs:
        if is_remote(name):
            raise InputError(f"dataflow: {name} is no file; --kernels native reads it")
        given = Path(name)
        for path in sorted(given.glob("*.npy")) if given.is_dir() else [given]:
            try:
                array = np.load(path, mmap_mode="r")
            except (OSError, ValueError) as error:
                raise InputError(f"dataflow: {path} is no .npy file: {error}") from None
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
    """To the nearest unit, half away from zero."""
    units = int(abs(value) * UNITS + 0.5)
    return (units if value >= 0 else -units) / UNITS


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Vectors that follow one another: `count` from number `first` on, and those of a file."""

    first: int
    count: int
    path: str = ""
    stored: NDArray[Any] | None = None


def pieces_of(asked: Plan, number: int) -> Iterator[Piece]:
    """Block `number` as pieces of up to `PIECE_VECTORS`."""
    import numpy as np

    first, count = asked.first(number), asked.vectors_of(number)
    if not asked.files:
        for start in range(0, count, PIECE_VECTORS):
            yield Piece(first=first + start, count=min(PIECE_VECTORS, count - start))
        return
    share = file_share(asked.files, first, count)
    within, left = share.first, share.count
    for path in share.inputs:
        vectors = np.load(path, mmap_mode="r")[within : within + left]
        for start in range(0, len(vectors), PIECE_VECTORS):
            stored = vectors[start : start + PIECE_VECTORS]
            yield Piece(first=first, count=len(stored), path=path, stored=stored)
            first += len(stored)
        within, left = 0, left - len(vectors)


class NumpyKernels:
    """The stages on arrays of 3-vectors, as a good Python programmer writes them."""

    def generate(self, vectors: Block, seed: int, first: int) -> None:
        """Fill an array with the vectors from number `first` on."""
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

    def make(self, vectors: Block, piece: Piece, asked: Plan) -> None:
        """Fill an array with a piece. Errors: `InputError`."""
        if piece.stored is None:
            self.generate(vectors, asked.seed, piece.first)
        else:
            self.load(vectors, piece, asked.limit())

    def shift(self, vectors: Block, by: tuple[float, float, float]) -> None:
        """Add a vector to each."""
        axes = vectors.reshape(-1, 3)
        axes += by

    def sum(self, vectors: Block) -> Sums:
        """Their sums."""
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


def make_block(kernels: NumpyKernels, asked: Plan, number: int, room: Block) -> Block:
    """Block `number`, generated or loaded, at the start of `room`. Errors: `InputError`."""
    done = 0
    for piece in pieces_of(asked, number):
        end = done + 3 * piece.count
        kernels.make(room[done:end], piece, asked)
        done = end
    return room[:done]


def make_room(asked: Plan) -> Block:
    """Room for what `sums_of` has in memory: a block, or a piece where all stages are one loop."""
    import numpy as np

    vectors = asked.vectors_of(0)
    return np.empty(3 * (vectors if asked.stores else min(vectors, PIECE_VECTORS)))


def sums_of(kernels: NumpyKernels, asked: Plan, number: int, room: Block) -> Sums:
    """All stages of a block, one after the other, or for each piece. Errors: `InputError`."""
    if asked.stores:
        block = make_block(kernels, asked, number, room)
        kernels.shift(block, asked.shift)
        return kernels.sum(block)
    total = (0, 0, 0)
    for piece in pieces_of(asked, number):
        vectors = room[: 3 * piece.count]
        kernels.make(vectors, piece, asked)
        kernels.shift(vectors, asked.shift)
        total = add(total, kernels.sum(vectors))
    return total


KERNELS = ("native", "numpy")


def kernels_of(trial: Trial, choices: Iterable[str] = KERNELS) -> str:
    """The `--kernels` of a trial. Errors: `InputError` where they are not for its workload."""
    given = trial.engine_options.get("kernels", "native")
    if given not in choices:
        raise InputError(f"--kernels is {given}, choose from {', '.join(choices)}")
    if given != "native" and trial.workload != "dataflow":
        raise InputError(
            f"--kernels {given} is for dataflow; {trial.workload} runs the native kernels"
        )
    return given


def add(one: Sums, other: Sums) -> Sums:
    """The sums of both."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def write_table(path: Path, sums: Iterable[Sums], total: Sums, plan: Plan) -> int:
    """Write the answer file from the sums of the blocks in order and of all; return its bytes."""
    with path.open("w", encoding="ascii") as file:
        file.write(HEADER)
        for block, found in enumerate(sums):
            file.write(_line(str(block), plan.vectors_of(block), found))
        file.write(_line("all", plan.vectors, total))
        return file.tell()


def _line(block: str, vectors: int, sums: Sums) -> str:
    fields = [block, str(vectors), *map(str, sums), *(_mean(one, vectors) for one in sums)]
    return "\t".join(fields) + "\n"


def _mean(total: int, vectors: int) -> str:
    """Six decimals, half away from zero, from whole numbers."""
    divisor = vectors * UNITS
    rounded = (2 * abs(total) * 10**6 + divisor) // (2 * divisor)
    sign = "-" if total < 0 and rounded else ""
    return f"{sign}{rounded // 10**6}.{rounded % 10**6:06}"
