"""Ceilings of this machine: measured once, saved per machine, compared with each phase.

A ceiling's name has its unit: `memory_read_bytes_per_s`, `memory_copy_bytes_per_s` (bytes
read and bytes written), `file_read_warm_bytes_per_s` (page cache), `file_read_direct_bytes_per_s`
(device, in order), `random_read_bytes_per_s` (device, 4 KiB), `file_write_bytes_per_s` (with
fsync), `fma_f32_flops_per_s` (multiply-adds in registers) and `gemm_f32_flops_per_s` (NumPy's
matrix product, where NumPy is installed); of the network and of engines see `cuesta.lab.limits`.
"""

from __future__ import annotations

import json
import os
import re
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
"""Width of an interval relative to its median above which a measurement gets a warning."""

BUSY_CORES_MAX = 0.3
"""Cores in use by other programs above which all measurements get a warning."""

BUSY_SECONDS = 0.5

Native = Callable[[str, str], str]
"""`_native.ceiling`: kind and request to response, both JSON."""

Report = Callable[[str], None]

_MEMORY_KINDS = ("memory_read", "memory_copy")
_FILE_KINDS = ("file_read_warm", "file_read_direct", "random_read")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A ceiling at a number of threads: its repeats, and their median with its interval."""

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
    """Measurements of a machine; `warnings` are sentences for the user."""

    measured: str
    machine: Mapping[str, object]
    scratch: str
    filesystem: str
    measurements: tuple[Measurement, ...]
    warnings: tuple[str, ...]
    schema: str = SCHEMA

    def at(self, threads: int) -> dict[str, float]:
        """Medians by name at `threads` threads, or at the next lower number that was measured."""
        chosen: dict[str, Measurement] = {}
        for measurement in sorted(self.measurements, key=lambda measurement: measurement.threads):
            if measurement.threads <= threads or measurement.name not in chosen:
                chosen[measurement.name] = measurement
        return {name: measurement.median for name, measurement in chosen.items()}

    def scaling(self) -> dict[str, float]:
        """Speed-up of all threads over one thread, by name; with n threads, n is perfect.

        Ceilings that were measured at one thread only are left out.
        """
        alone, together = self.at(1), self.at(sys.maxsize)
        several = {measurement.name for measurement in self.measurements if measurement.threads > 1}
        return {name: together[name] / alone[name] for name in together if name in several}


def load(threads: int | None = None) -> dict[str, float] | None:
    """Load the ceilings of this machine by name, or None if they were not measured.

    Arguments: `threads` of the run to compare; None for all usable cores.
    """
    try:
        is_measured = machine.cache_folder().is_dir()
    except OSError:
        is_measured = False  # The home is of another account.
    known = read(cache_file()) if is_measured else None
    return known.at(threads or machine.cores_usable()) if known else None


def cache_file() -> Path:
    """Path of the saved ceilings of this kind of machine: processor, usable cores, memory."""
    kind = f"{machine.cpu_model()} {machine.cores_usable()} {machine.memory_bytes() >> 20}"
    words = re.findall(r"[A-Za-z0-9]+", kind)
    return machine.cache_folder() / f"ceilings-{'-'.join(words).lower()[-120:]}.json"


def read(path: Path) -> Ceilings | None:
    """Read ceilings that `write` wrote, or None if there are none usable."""
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
    """Write ceilings atomically."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(asdict(ceilings), out, indent=1)
    removal.put(Path(name), path)


def measure(
    native: Native, scratch: Path, report: Report, engines: Sequence[Engine] = ()
) -> Ceilings:
    """Measure all ceilings, in about half a minute; `report` gets a line before each part.

    Arguments: `scratch` is a folder on the file system of interest, where a file of up to 1 GiB is
    written and removed; the limits of `engines` are measured too, some seconds each.
    Errors: `InputError` if the file cannot be written.
    """
    busy = cores_busy()
    measurements: list[Measurement] = []
    warnings: list[str] = []
    threads = thread_counts(machine.cores_usable())
    for count in threads:
        report(f"memory and arithmetic, {_threads(count)}")
        for kind in _MEMORY_KINDS:
            measurements.append(_ask(native, kind, count, {"bytes": memory_bytes()}))
        measurements.append(_ask(native, "fma_f32", count, {}))
    for count in threads if find_spec("numpy") else ():
        report(f"matrix product, {_threads(count)}")
        measurements += _gemm(count, warnings)
    measurements += _measure_files(native, scratch, report, warnings)
    measurements += _measure_limits(engines, scratch, report, warnings)
    if busy > BUSY_CORES_MAX:
        text = f"others kept {busy:.1f} cores busy; measure again when the machine is idle"
        warnings.append(text)
    warnings += doubts(measurements)
    return Ceilings(
        measured=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        machine=machine.describe({}),
        scratch=str(scratch.resolve()),
        filesystem=machine.filesystem(scratch),
        measurements=tuple(measurements),
        warnings=tuple(warnings),
    )


def _measure_files(
    native: Native, scratch: Path, report: Report, warnings: list[str]
) -> list[Measurement]:

    size = min(
        FILE_BYTES_MAX, machine.free_bytes(scratch) // 4, machine.memory_available_bytes() // 4
    )
    if size < FILE_BYTES_MIN:
        warnings.append(f"files were not measured: {scratch} has too little room")
        return []
    measurements: list[Measurement] = []
    with removal.temporary_folder(prefix="cuesta-ceilings-", folder=scratch) as folder:
        path = {"path": str(Path(folder) / "file")}
        report(f"files on {machine.filesystem(scratch)}, {size >> 20} MiB")
        measurements.append(_ask(native, "file_write", 1, path | {"bytes": size, "repeats": 3}))
        for count in thread_counts(machine.cores_usable()):
            for kind in _FILE_KINDS:
                try:
                    measurements.append(_ask(native, kind, count, path))
                except CuestaError as error:
                    warnings.append(f"{kind} was not measured: {error}")
    return measurements


def _measure_limits(
    engines: Sequence[Engine], scratch: Path, report: Report, warnings: list[str]
) -> list[Measurement]:
    from cuesta.lab import limits  # Not at the top: each run loads this module, but not `limits`.

    report("the network within this machine")
    samples = limits.measure_network(REPEATS)
    measurements = [
        _measurement(name, 1, rates, limits.NETWORK_DETAIL) for name, rates in samples.items()
    ]
    for engine in engines:
        report(f"engine {engine.name}, tasks without work")
        try:
            samples = limits.measure_engine(engine, scratch, REPEATS)
        except CuestaError as error:
            warnings.append(f"engine {engine.name} was not measured: {error}")
            continue
        threads, detail = machine.cores_usable(), f"engine {engine.name} on all cores"
        measurements += [
            _measurement(name, threads, rates, detail) for name, rates in samples.items()
        ]
    return measurements


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
    """Measure NumPy's product of square f32 matrices, in a process with `threads` BLAS threads."""
    import subprocess

    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS")
    command = [sys.executable, "-P", "-c", _GEMM, str(GEMM_ROWS), str(REPEATS)]
    environment = os.environ | dict.fromkeys(names, str(threads))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        warnings.append(f"the matrix product was not measured: {last}")
        return []
    detail = f"numpy.matmul of {GEMM_ROWS} x {GEMM_ROWS}"
    return [_measurement("gemm_f32_flops_per_s", threads, json.loads(done.stdout), detail)]


def doubts(measurements: Sequence[Measurement]) -> list[str]:
    """Describe measurements that vary or contradict each other."""
    sentences = [
        f"{measurement.name} at {_threads(measurement.threads)} varied by"
        f" {measurement.spread:.0%} between repeats"
        for measurement in measurements
        if measurement.spread > SPREAD_MAX
    ]
    by_place = {
        (measurement.name, measurement.threads): measurement.median for measurement in measurements
    }
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
    """Cores in use by all programs, over half a second in which this process sleeps."""
    before = _busy_seconds()
    time.sleep(BUSY_SECONDS)
    return max(0.0, (_busy_seconds() - before) / BUSY_SECONDS)


def _busy_seconds() -> float:
    """Processor seconds of the machine since its start, without idle and waiting time."""
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
