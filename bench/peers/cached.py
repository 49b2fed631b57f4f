"""Assemblies of other projects' programs, made once for the same reads, version and command.

They are in a folder each, by a digest of these three, with the time that they took. A run that
fails leaves nothing and is tried again.
"""

from __future__ import annotations

import hashlib
import json
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.data import warm
from harness.model import THREADS, Sample
from harness.reads import ReadPairs
from peers import assemblers

FOREIGN_PROCESSORS_MAX = 0.2
"""Processors that other programs may use during a run whose time counts."""

_TRIM = (
    f"fastp -w {THREADS} -i {{first}} -I {{second}} -o {{folder}}/1.fq.gz -O {{folder}}/2.fq.gz "
    "-j {folder}/fastp.json -h {folder}/fastp.html"
)
_SPADES = f"spades.py --isolate -t {THREADS} -m 20 -1 {{first}} -2 {{second}} -o {{folder}}/out"
_TRIMMED = {"first": "{folder}/1.fq.gz", "second": "{folder}/2.fq.gz", "folder": "{folder}"}


@dataclass(frozen=True, kw_only=True)
class Assembler:
    """A program with its commands.

    Attributes
    ----------
    commands
        Command lines in order; `{first}` and `{second}` are the reads, `{folder}` is empty before.
    contigs, scaffolds
        Its files in the folder.
    """

    name: str
    commands: tuple[str, ...]
    contigs: str
    scaffolds: str = ""

    @property
    def how(self) -> str:
        """The commands in a line."""
        return " && ".join(self.commands)

    @property
    def files(self) -> dict[str, str]:
        """Files by their kind."""
        kinds = {"contigs": self.contigs, "scaffolds": self.scaffolds}
        return {kind: name for kind, name in kinds.items() if name}

    def missing(self) -> str | None:
        """Why it cannot run here, or None."""
        programs = (command.split()[0] for command in self.commands)
        return next((why for name in programs if (why := assemblers.missing(name))), None)


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """A finished assembly.

    Attributes
    ----------
    foreign_processors
        Processors that other programs used meanwhile, in the mean.
    """

    folder: Path
    seconds: float
    peak_resident_bytes: int
    foreign_processors: float

    @property
    def sample(self) -> Sample:
        """Its time and peak."""
        return Sample(seconds=self.seconds, peak_resident_bytes=self.peak_resident_bytes)


def _trimmed(command: str) -> tuple[str, str]:
    return _TRIM, command.format(**_TRIMMED)


def programs(read_bases: int) -> tuple[Assembler, ...]:
    """Programs with the commands for reads of this length.

    None but SPAdes as typed gets adapters: fastp cuts them off before, in the time that counts.
    """
    sizes = "21,33,55,77" + (",99,127" if read_bases >= 250 else "")
    spades = {"contigs": "out/contigs.fasta", "scaffolds": "out/scaffolds.fasta"}
    skesa = f"skesa --reads {{first}},{{second}} --cores {THREADS} --memory 16 --vector_percent 1"
    shovill = f"shovill --cpus {THREADS} --ram 16 --depth 0 --minlen 200 --R1 {{first}}"
    return (
        Assembler(name="spades tuned", commands=_trimmed(f"{_SPADES} -k {sizes}"), **spades),
        Assembler(name="spades", commands=(_SPADES,), **spades),
        Assembler(
            name="skesa",
            commands=_trimmed(f"{skesa} --contigs_out {{folder}}/contigs.fa"),
            contigs="contigs.fa",
        ),
        Assembler(
            name="shovill",
            commands=_trimmed(f"{shovill} --R2 {{second}} --outdir {{folder}}/out"),
            contigs="out/contigs.fa",
        ),
        Assembler(
            name="megahit",
            commands=_trimmed(f"megahit -t {THREADS} -1 {{first}} -2 {{second}} -o {{folder}}/out"),
            contigs="out/final.contigs.fa",
        ),
    )


def assembled(program: Assembler, reads: ReadPairs, folder: Path) -> Assembly:
    """The assembly of reads, from `folder` or made into it. Errors: `RuntimeError` of a run."""
    made = folder / key(program, reads)
    if not (made / "run.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="partial-", dir=folder) as name:
            work, finished = Path(name, "work"), Path(name, "finished")
            work.mkdir()
            finished.mkdir()
            facts = _run(program, reads, work)
            for kind, file in program.files.items():
                if (work / file).exists():
                    shutil.copyfile(work / file, finished / f"{kind}.fa")
            (finished / "run.json").write_text(json.dumps(facts, indent=1) + "\n")
            finished.rename(made)
    facts = json.loads((made / "run.json").read_text())
    measured = ("seconds", "peak_resident_bytes", "foreign_processors")
    return Assembly(folder=made, **{name: facts[name] for name in measured})


def is_made(program: Assembler, reads: ReadPairs, folder: Path) -> bool:
    """Whether the assembly is in `folder`."""
    return (folder / key(program, reads) / "run.json").exists()


def key(program: Assembler, reads: ReadPairs) -> str:
    """The digest of the reads, the versions of all programs, and their commands."""
    versions = [version(command.split()[0]) for command in program.commands]
    text = "\n".join([digest(reads.first), digest(reads.second), *versions, *program.commands])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def version(command: str) -> str:
    """Number of a program's version, as it reports it."""
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    number = re.search(r"\d+\.\d+[\w.-]*", done.stdout + done.stderr)
    return f"{command} {number.group() if number else 'of no version'}"


def digest(path: Path) -> str:
    """SHA-256 of a file, packed as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(program: Assembler, reads: ReadPairs, folder: Path) -> dict[str, object]:
    for path in reads.files:
        warm(path)
    places = {"first": reads.first, "second": reads.second, "folder": folder}
    with _foreign_processors() as foreign:
        samples = [assemblers.run(_words(command, places)) for command in program.commands]
    return {
        "program": program.name,
        "commands": program.commands,
        "versions": [version(command.split()[0]) for command in program.commands],
        "reads": [path.name for path in reads.files],
        "seconds": sum(sample.seconds for sample in samples),
        "peak_resident_bytes": max(sample.peak_resident_bytes or 0 for sample in samples),
        "foreign_processors": round(foreign[0], 3),
    }


def _words(command: str, places: dict[str, Path]) -> Sequence[str]:
    """The words of a command line; a path may have blanks."""
    return [word.format(**places) for word in command.split()]


@contextmanager
def _foreign_processors() -> Iterator[list[float]]:
    """Yield a list; at the end it has the processors that others used in the mean."""
    answer = [0.0]
    began, busy, ours = time.monotonic(), _busy_seconds(), _our_seconds()
    yield answer
    elapsed = time.monotonic() - began
    used = (_busy_seconds() - busy) - (_our_seconds() - ours)
    answer[0] = max(0.0, used / elapsed)


def _busy_seconds() -> float:
    """Seconds of all processors that were not idle."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = [int(field) for field in fields]
    return (sum(ticks) - ticks[3] - ticks[4]) / 100


def _our_seconds() -> float:
    """Processor seconds of this process and of all that have ended below it."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
