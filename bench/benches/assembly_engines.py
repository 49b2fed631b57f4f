"""Assembly on our engines: speed compared with each other and a floor, equal bytes, memory."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benches import engines as installed
from benches.assemble_command import (
    CUESTA,
    Command,
    Done,
    K,
    files,
    phases,
    run,
    same_files,
    typed_command,
    unitigs,
)
from harness.data import warm
from harness.model import (
    MEMORY_BYTES,
    Bar,
    Case,
    Contestant,
    MemoryLimit,
    Ratio,
)
from harness.reads import ReadPairs, shuffled
from harness.size import Size
from peers import assemblers

LIMIT_BYTES = 512 << 20
SHAPE = ("-k", str(K), "--min-count", "3")
ENGINES: dict[str, tuple[str, ...]] = {
    "mpi": ("--engine", "mpi"),
    "spark": ("--engine", "spark", "--memory", f"{MEMORY_BYTES >> 30}GiB"),
}
"""Engines besides native, with their options."""

SMALL_MIB = (256, 384, 512, 768)
"""Limits of memory to try, the smallest first."""

FLOOR_NS = {"partition": "3", "compact": "3 to 5", "all": "6 to 8"}
FLOOR_BYTES = {"compact": "0.9"}
FLOOR = (
    "the floor is derived, not measured: ns a base of one core are 0.5 to parse, 2 to find the "
    "minimizers of both strands (0.5 Gbase/s), 0.5 to pack, write and read super-k-mers, 3 to 5 to "
    "insert k-mers into tables within a cache of 2 MiB; with k = 31 and minimizers of 12 bases a "
    "super-k-mer has some 10.5 k-mers, so 40.5 bases of 2 bits, and 2 bytes besides"
)


def case(
    name: str, inputs: Sequence[Path], contestants: Sequence[Contestant], bars: Sequence[Bar]
) -> Case:
    """A computation on these files, whose bytes are its work; a file may be there twice."""
    size_bytes = sum(path.stat().st_size for path in inputs)
    return Case(
        name=f"{name}, {size_bytes / 1e6:.0f} MB",
        contestants=tuple(contestants),
        bars=tuple(bars),
        amount=float(size_bytes),
        unit="B",
        inputs=tuple(dict.fromkeys(inputs)),
        repeats_max=5,
    )


def with_peers(size: Size, made: Case, peers: Sequence[Contestant]) -> Case:
    """The case with the peers that can run here."""
    reasons = {
        peer.name: size.left_out(peer.name) or assemblers.missing(peer.name) for peer in peers
    }
    return replace(
        made,
        contestants=(*made.contestants, *(peer for peer in peers if reasons[peer.name] is None)),
        absent={name: why for name, why in reasons.items() if why},
    )


def engines(size: Size, reads: ReadPairs) -> Case:
    """Unitigs on ranks and on Spark, without the start of Spark."""
    absent = _absent(size)
    native = Command(files=reads.files, options=SHAPE)
    by_engine = {
        name: replace(native, options=(*SHAPE, *words))
        for name, words in ENGINES.items()
        if _called(name) not in absent
    }
    ours = [phases(command, unitigs, _called(name)) for name, command in by_engine.items()]
    bars = [
        Ratio(ours=CUESTA, peer=our.name, at_least=None, text=f"beside {our.name}, shown")
        for our in ours
    ]
    made = case(f"engines, k = {K}", reads.files, [phases(native, unitigs), *ours], bars)
    notes = [_stages(size, native, reads.bases), FLOOR]
    if "spark" in by_engine:
        notes.append(_shuffle(size, by_engine["spark"], reads.bases))
    return replace(made, repeats_max=3, absent=absent, notes=tuple(notes))


def identical(size: Size, reads: ReadPairs) -> Case:
    """Every file of the answer is the same bytes for any threads, memory, order and engine."""
    absent = _absent(size)
    mixed = (shuffled(reads),)
    small, refused = _smallest(size, reads)
    first = Command(files=reads.files, options=(*SHAPE, "--memory", "1GiB"))
    least = (*SHAPE, "--memory", f"{small}MiB")
    ours = {
        CUESTA: first,
        "1 thread": replace(first, threads=1),
        "4 threads": replace(first, threads=4),
        f"{small} MiB": replace(first, options=least),
        "8 GiB": replace(first, options=(*SHAPE, "--memory", "8GiB")),
        "shuffled": replace(first, files=mixed),
        f"shuffled, 4 threads, {small} MiB": Command(files=mixed, options=least, threads=4),
    }
    for name, words in ENGINES.items():
        if _called(name) not in absent:
            command = Command(files=mixed, options=(*SHAPE, *words), threads=4)
            ours[f"{_called(name)}, shuffled, 4 threads"] = command
    contestants = [phases(command, files, name) for name, command in ours.items()]
    made = case(f"identical files, k = {K}", reads.files, contestants, ())
    return replace(made, same=same_files, repeats_max=1, absent=absent, notes=refused)


def _three_times(file: Path) -> Path:
    """Make a file with three times the reads; a file that is named three times is refused."""
    made = file.with_name(f"three-{file.name}")
    if not made.exists():
        partial = made.with_name(f"{made.name}.partial")
        partial.write_bytes(file.read_bytes() * 3)
        partial.rename(made)
    return made


def beyond_memory(reads: ReadPairs) -> Case:
    """Three times the reads within a limit that holds a part of them, and without one."""
    files = tuple(_three_times(file) for file in reads.files)
    free = Command(files=files, options=("-k", str(K), "--min-count", "9"))
    options = (*free.options, "--memory", str(LIMIT_BYTES))
    limited = replace(free, options=options, limit_bytes=LIMIT_BYTES)
    name = "cuesta limited"
    bars = (
        Ratio(
            ours=name,
            peer=CUESTA,
            at_least=1 / 1.6,
            text="1.6 times as long as without a limit",
        ),
        MemoryLimit(ours=name, below_bytes=LIMIT_BYTES, text="within the limit"),
    )
    contestants = (typed_command(free, unitigs), typed_command(limited, unitigs, name))
    title = f"three times the reads in {LIMIT_BYTES >> 20} MiB"
    return case(title, free.files, contestants, bars)


def _called(engine: str) -> str:
    return f"cuesta {engine}"


def _absent(size: Size) -> dict[str, str]:
    """Why engines cannot take part."""
    reasons = {engine: size.left_out(engine) or installed.missing(engine) for engine in ENGINES}
    return {_called(engine): why for engine, why in reasons.items() if why}


def _smallest(size: Size, reads: ReadPairs) -> tuple[int, tuple[str, ...]]:
    """The first of `SMALL_MIB` with which a run passes, and the refusals of smaller ones.

    Errors: `RuntimeError` when the last one is refused too.
    """
    refused: tuple[str, ...] = ()
    for limit in SMALL_MIB:
        command = Command(files=reads.files, options=(*SHAPE, "--memory", f"{limit}MiB"))
        try:
            _tried(size, command)
        except RuntimeError as error:
            if limit == SMALL_MIB[-1]:
                raise
            reason = str(error).rpartition("cuesta: ")[2]
            refused = (*refused, f"identical files: {limit} MiB is too little: {reason}")
        else:
            break
    return limit, refused


def _tried(size: Size, command: Command) -> Done:
    """Run the command once, without measuring."""
    with tempfile.TemporaryDirectory(dir=size.folder) as folder:
        return run(command, Path(folder))


def _shuffle(size: Size, command: Command, bases: int) -> str:
    """Bytes of the shuffle by Spark's event log, in words."""
    written = _tried(size, command).record["engine_log"]["shuffle_write_bytes"]
    return f"spark writes {written / bases:.2f} bytes of shuffle a base of the reads"


def _stages(size: Size, command: Command, bases: int) -> str:
    """Time and bytes of each stage for each base of the reads, compared with the floor."""
    for path in command.files:
        warm(path)
    tried = [_tried(size, command).phases for _ in range(size.pick(1, 3))]
    lines = []
    total_ns = 0.0
    for runs in zip(*tried, strict=True):
        seconds = statistics.median(run["seconds"] for run in runs)
        ns = command.threads * seconds / bases * 1e9
        total_ns += ns
        lines.append(_stage(runs[0]["name"], ns, runs[0].get("bytes", 0) / bases))
    lines.append(_stage("all", total_ns, 0))
    return (
        f"stages of native, `-k {K}`, ns a base of one core (threads x seconds / bases) and bytes "
        f"a base (`partition`: of the input, `compact`: of super-k-mers): {'; '.join(lines)}"
    )


def _stage(name: str, ns: float, size_bytes: float) -> str:
    """As `compact 7.10 ns (floor 3 to 5), 0.93 B (floor 0.9)`."""
    floor = f" (floor {FLOOR_NS[name]})" if name in FLOOR_NS else ""
    bytes_floor = f" (floor {FLOOR_BYTES[name]})" if name in FLOOR_BYTES else ""
    shown = f", {size_bytes:.2g} B{bytes_floor}" if size_bytes else ""
    return f"{name} {ns:.2g} ns{floor}{shown}"
