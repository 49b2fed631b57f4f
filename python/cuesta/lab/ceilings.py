"""What this machine can do at most: measured once, kept per machine, compared with every phase.

A ceiling's name says what it counts: `memory_read_bytes_per_s`, `memory_copy_bytes_per_s` (bytes
read and bytes written), `file_read_warm_bytes_per_s` (page cache), `file_read_direct_bytes_per_s`
(device, in order), `random_read_bytes_per_s` (device, 4 KiB), `file_write_bytes_per_s` (with
fsync), `fma_f32_flops_per_s` (multiply-adds in registers) and `gemm_f32_flops_per_s` (NumPy's
matrix product, where NumPy is installed); of the network and of engines see `cuesta.lab.limits`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta import machine, removal
from cuesta.errors import CuestaError
from cuesta.lab.stats import median_interval

if TYPE_CHECKING:
    from cuesta.engines import Engine

SCHEMA = "cuesta.ceilings/1"
REPEATS = 7
SECONDS_MIN = 0.1
FILE_BYTES_MAX = 1 << 30
FILE_BYTES_MIN = 64 << 20
MEMORY_BYTES_MIN = 256 << 20
GEMM_ROWS = 3072
SPREAD_MAX = 0.25
"""A width of the interval, relative to the median, above which a measurement is doubted."""

BUSY_CORES_MAX = 0.3
"""Cores in use by others above which everything is doubted."""

BUSY_SECONDS = 0.5

Native = Callable[[str, str], str]
"""`_native.ceiling`: kind and request to response, both JSON."""

Say = Callable[[str], None]

_MEMORY_KINDS = ("memory_read", "memory_copy")
_FILE_KINDS = ("file_read_warm", "file_read_direct", "random_read")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One ceiling at one number of threads: every repeat, and their median with its interval."""

    name: str
    threads: int
    per_s: tuple[float, ...]
    median: float
    low: float
    high: float
    detail: str

    @property
    def spread(self) -> float:
        """Width of the interval relative to the median."""
        return (self.high - self.low) / self.median


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """Everything that was measured on a machine; `warnings` are sentences for a person."""

    measured: str
    machine: Mapping[str, object]
    scratch: str
    filesystem: str
    measurements: tuple[Measurement, ...]
    warnings: tuple[str, ...]
    schema: str = SCHEMA

    def at(self, threads: int) -> dict[str, float]:
        """By name, the median at `threads` threads, or at the nearest fewer that was measured."""
        chosen: dict[str, Measurement] = {}
        for one in sorted(self.measurements, key=lambda one: one.threads):
            if one.threads <= threads or one.name not in chosen:
                chosen[one.name] = one
        return {name: one.median for name, one in chosen.items()}

    def scaling(self) -> dict[str, float]:
        """By name, how many times one thread all threads are; what was measured at one is left out.

        With n threads, n is perfect.
        """
        alone, together = self.at(1), self.at(sys.maxsize)
        several = {one.name for one in self.measurements if one.threads > 1}
        return {name: together[name] / alone[name] for name in together if name in several}


def load(threads: int | None = None) -> dict[str, float] | None:
    """The ceilings of this machine by name, or None when they were never measured.

    Arguments: `threads` of the run to compare; all usable cores when None.
    """
    known = read(cache_file()) if machine.cache_folder().is_dir() else None
    return known.at(threads or machine.cores_usable()) if known else None


def cache_file() -> Path:
    """Where the ceilings of this machine are kept."""
    return machine.cache_folder() / f"ceilings-{fingerprint()}.json"


def fingerprint() -> str:
    """A name for machines of this kind: processor, usable cores and memory."""
    import hashlib

    memory_mib = machine.memory_bytes() >> 20
    facts = (machine.cpu_model(), machine.cores_usable(), memory_mib)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


def read(path: Path) -> Ceilings | None:
    """What `write` wrote, or None when there is nothing usable."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields.pop("schema") != SCHEMA:
            return None
        rows = fields.pop("measurements")
        measurements = tuple(Measurement(**row | {"per_s": tuple(row["per_s"])}) for row in rows)
        warnings = tuple(fields.pop("warnings"))
        return Ceilings(measurements=measurements, warnings=warnings, **fields)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write(ceilings: Ceilings, path: Path) -> None:
    """Keep the ceilings, in one step."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(asdict(ceilings), out, indent=1)
    removal.put(Path(name), path)


def measure(native: Native, scratch: Path, say: Say, engines: Sequence[Engine] = ()) -> Ceilings:
    """Measure everything, in about half a minute; `say` gets a line before each part.

    Arguments: `scratch` is a folder on the file system of interest, where a file of up to 1 GiB is
    written and removed; `engines` are asked for their own limits, some seconds each.
    Errors: `InputError` when it can't be written.
    """
    busy = cores_busy()
    found: list[Measurement] = []
    warnings: list[str] = []
    threads = thread_counts(machine.cores_usable())
    for count in threads:
        say(f"memory and arithmetic, {_threads(count)}")
        for kind in _MEMORY_KINDS:
            found.append(_ask(native, kind, count, {"bytes": memory_bytes()}))
        found.append(_ask(native, "fma_f32", count, {}))
    for count in threads if find_spec("numpy") else ():
        say(f"matrix product, {_threads(count)}")
        found += _gemm(count, warnings)
    found += _measure_files(native, scratch, say, warnings)
    found += _measure_limits(engines, scratch, say, warnings)
    if busy > BUSY_CORES_MAX:
        text = f"others kept {busy:.1f} cores busy; measure again when the machine is idle"
        warnings.append(text)
    warnings += doubts(found)
    return Ceilings(
        measured=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        machine=machine.describe({}),
        scratch=str(scratch.resolve()),
        filesystem=machine.filesystem(scratch),
        measurements=tuple(found),
        warnings=tuple(warnings),
    )


def _measure_files(
    native: Native, scratch: Path, say: Say, warnings: list[str]
) -> list[Measurement]:

    size = min(
        FILE_BYTES_MAX, machine.free_bytes(scratch) // 4, machine.memory_available_bytes() // 4
    )
    if size < FILE_BYTES_MIN:
        warnings.append(f"files were not measured: {scratch} has too little room")
        return []
    found: list[Measurement] = []
    with removal.temporary_folder(prefix="cuesta-ceilings-", folder=scratch) as folder:
        path = {"path": str(Path(folder) / "file")}
        say(f"files on {machine.filesystem(scratch)}, {size >> 20} MiB")
        found.append(_ask(native, "file_write", 1, path | {"bytes": size, "repeats": 3}))
        for count in thread_counts(machine.cores_usable()):
            for kind in _FILE_KINDS:
                try:
                    found.append(_ask(native, kind, count, path))
                except CuestaError as error:
                    warnings.append(f"{kind} was not measured: {error}")
    return found


def _measure_limits(
    engines: Sequence[Engine], scratch: Path, say: Say, warnings: list[str]
) -> list[Measurement]:
    from cuesta.lab import limits  # Nothing for every run, which loads this module.

    say("the network within this machine")
    samples = limits.of_network(REPEATS)
    found = [_measurement(name, 1, one, limits.NETWORK_DETAIL) for name, one in samples.items()]
    for engine in engines:
        say(f"engine {engine.name}, tasks without work")
        try:
            samples = limits.of_engine(engine, scratch, REPEATS)
        except CuestaError as error:
            warnings.append(f"engine {engine.name} was not measured: {error}")
            continue
        threads, detail = machine.cores_usable(), f"engine {engine.name} on all cores"
        found += [_measurement(name, threads, one, detail) for name, one in samples.items()]
    return found


def _ask(native: Native, kind: str, threads: int, more: Mapping[str, object]) -> Measurement:
    request = {"threads": threads, "repeats": REPEATS, "seconds_min": SECONDS_MIN} | dict(more)
    answer: dict[str, Any] = json.loads(native(kind, json.dumps(request)))
    name = f"{kind}_{answer['unit']}_per_s"
    return _measurement(name, threads, answer["per_s"], answer["detail"])


def _measurement(name: str, threads: int, per_s: Sequence[float], detail: str) -> Measurement:
    middle = median_interval(per_s)
    return Measurement(
        name=name,
        threads=threads,
        per_s=tuple(per_s),
        median=middle.median,
        low=middle.low,
        high=middle.high,
        detail=detail,
    )


_GEMM = """
import json, sys, time
import numpy
rows, repeats = int(sys.argv[1]), int(sys.argv[2])
random = numpy.random.default_rng(0)
a, b = (random.random((rows, rows), dtype=numpy.float32) for _ in range(2))
c = numpy.empty_like(a)
numpy.matmul(a, b, out=c)
per_s = []
for _ in range(repeats):
    start = time.perf_counter()
    numpy.matmul(a, b, out=c)
    per_s.append(2 * rows**3 / (time.perf_counter() - start))
print(json.dumps(per_s))
"""


def _gemm(threads: int, warnings: list[str]) -> list[Measurement]:
    """NumPy's product of square f32 matrices, in a process that has so many BLAS threads."""
    import subprocess

    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS")
    command = [sys.executable, "-c", _GEMM, str(GEMM_ROWS), str(REPEATS)]
    environment = os.environ | dict.fromkeys(names, str(threads))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        warnings.append(f"the matrix product was not measured: {last}")
        return []
    detail = f"numpy.matmul of {GEMM_ROWS} x {GEMM_ROWS}"
    return [_measurement("gemm_f32_flops_per_s", threads, json.loads(done.stdout), detail)]


def doubts(found: Sequence[Measurement]) -> list[str]:
    """Sentences about results that do not agree with themselves or with each other."""
    sentences = [
        f"{one.name} at {_threads(one.threads)} varied by {one.spread:.0%} between repeats"
        for one in found
        if one.spread > SPREAD_MAX
    ]
    by_place = {(one.name, one.threads): one.median for one in found}
    for (name, threads), rate in by_place.items():
        for lower, upper, factor in _ORDER:
            bound = by_place.get((upper, threads))
            if name == lower and bound and rate > factor * bound:
                sentences.append(f"{lower} is above {upper}, which should bound it")
        if threads > 1 and rate < 0.9 * by_place.get((name, 1), 0):
            sentences.append(f"{name} is slower with {_threads(threads)} than with one")
    return sentences


_ORDER = (
    ("gemm_f32_flops_per_s", "fma_f32_flops_per_s", 1.05),
    ("memory_copy_bytes_per_s", "memory_read_bytes_per_s", 2.2),
    ("file_read_warm_bytes_per_s", "memory_read_bytes_per_s", 1.5),
    ("file_read_direct_bytes_per_s", "file_read_warm_bytes_per_s", 1.1),
    ("random_read_bytes_per_s", "file_read_direct_bytes_per_s", 1.1),
)
"""(lower, upper, factor): the lower is at most `factor` times the upper at equal threads."""


def thread_counts(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    counts = [1 << power for power in range(cores.bit_length()) if 1 << power < cores]
    return [*counts, cores]


def memory_bytes() -> int:
    """Bytes to measure memory with: four times the last cache, at most a quarter of the free."""
    wanted = max(MEMORY_BYTES_MIN, 4 * _last_cache_bytes())
    return min(wanted, machine.memory_available_bytes() // 4)


def cores_busy() -> float:
    """Cores in use right now by everyone, looked at for half a second in which we sleep."""
    before = _busy_seconds()
    time.sleep(BUSY_SECONDS)
    return max(0.0, (_busy_seconds() - before) / BUSY_SECONDS)


def _busy_seconds() -> float:
    """Processor seconds of the machine since it started, without idle and waiting ones."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _idle, _wait, interrupts, soft, stolen = map(int, words[1:9])
    ticks = user + nice + system + interrupts + soft + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def _last_cache_bytes() -> int:
    sizes = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        if text.endswith("K"):
            sizes.append(int(text[:-1]) << 10)
    return max(sizes)


def _threads(count: int) -> str:
    return f"{count} thread" if count == 1 else f"{count} threads"
