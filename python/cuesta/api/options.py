"""Options of `run` and `compare`: those of every workload from its `params.toml`, and the lab's.

`cuesta.cli.signature` (for Typer), `cuesta.cli.plain` and `cuesta.api.keywords` read them, so that
a word means the same on the command line and in Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.api import genes, read_pairs
from cuesta.api.declared import (
    WORKLOAD_PANEL,
    Option,
    common_options,
)
from cuesta.api.settings import filled, naming
from cuesta.api.verbosity import NORMAL, Verbosity
from cuesta.config.layers import Chosen
from cuesta.engines import ENGINE_NAMES
from cuesta.errors import InputError
from cuesta.lab.verify import FULL
from cuesta.trial import Trial, is_path
from cuesta.units import format_bytes, parse_size
from cuesta.workloads import Parameter, Workload

if TYPE_CHECKING:
    from cuesta.lab.plan import Plan

_TYPES: dict[str, type] = {"float": float, "int": int, "flag": bool}
"""Python types of values, by the type of a parameter; text where there is none."""
_ENGINES_OF = {"master": ("spark", "spark-scala"), "ranks": ("mpi",), "kernels": ("spark", "mpi")}
"""Engines to which each flag for engines applies."""
_NO_OPTIONS = "native"
"""The engine without options of its own."""
_READ_FILE_OPTIONS = {"-1": "first_mates", "-2": "second_mates", "-s": "single_reads"}
"""Names in the signature of the options that take files of read pairs, and of single reads."""
THREADS_MAX = 1024
_CACHES = {"": "as-is", "input": "input-dropped", "machine": "machine-dropped"}


@dataclass(frozen=True, kw_only=True)
class Common:
    """Values of the options that all workloads share, and the file that names genes."""

    engines: tuple[str, ...]
    threads: int
    memory_bytes: int
    scratch: Path | None
    seed: int
    engine_options: Mapping[str, str]
    repeats: int
    cache: str
    output: Path
    overwrite: bool
    json: bool
    verify: str = FULL
    names: str | None = None
    settings: tuple[Chosen, ...] = ()
    engine_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    verbosity: Verbosity = NORMAL


Body = Callable[[Workload, tuple[str, ...], dict[str, object], Common], None]
"""The body of a command, called with its checked options."""


def make_command(workload: Workload, engines: Option, body: Body) -> Callable[..., None]:
    """A function of the values of `options`, and of `inputs`, that checks them and calls `body`."""

    def command(**values: Any) -> None:
        inputs, parameters, common = checked(workload, engines, values)
        with naming(common.settings):
            body(workload, inputs, parameters, common)

    return command


def checked(
    workload: Workload, engines: Option, values: Mapping[str, Any]
) -> tuple[tuple[str, ...], dict[str, object], Common]:
    """Return the inputs, parameters and shared options that the values of `options` select.

    Options that nobody typed have their settings. Errors: `InputError` naming the option that is
    wrong.
    """
    parameters = {
        parameter.name: values[_key(parameter)] for parameter in genes.parameters_of(workload)
    }
    plain = values["inputs"] or []
    by_word = {word: values.get(key) or [] for word, key in _READ_FILE_OPTIONS.items()}
    plain = read_pairs.inputs(workload, parameters, plain, by_word)
    inputs = tuple(_main_file(absolute(path)) for path in plain)
    parameters, names = workload.split_gene_names(parameters)
    known = workload.check(parameters | _absolute_files(workload, parameters))
    workload.check_inputs(inputs)
    complete = filled(values, [engines, *common_options()])
    with naming(complete.settings):
        common = _common(complete.values)
    common = replace(common, names=None if names is None else absolute(names))
    common = replace(common, settings=complete.settings)
    return inputs, known, replace(common, engine_settings=complete.engine_options)


def _absolute_files(workload: Workload, parameters: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that are files, as every process can open them."""
    files = {parameter.name for parameter in workload.parameters if parameter.type == "file"}
    return {
        name: absolute(str(value))
        for name, value in parameters.items()
        if name in files and value is not None
    }


def options(workload: Workload, engines: Option) -> list[Option]:
    """All options of `workload`, in the order in which help shows them."""
    workload_options = [
        *_read_file_options(workload),
        *map(_workload_option, genes.parameters_of(workload)),
    ]
    return [*workload_options, engines, *common_options()]


def inputs_required(workload: Workload) -> bool:
    """Whether a command line without inputs is wrong."""
    return bool(workload.inputs_minimum and not workload.paired_parameter)


def absolute(path: str) -> str:
    """An input as every process can open it; URIs remain, but `file:` becomes a path.

    Errors: `InputError` for an empty path, which would be the working folder.
    """
    if not path:
        raise InputError("a path is empty; give a file, or a folder such as .")
    plain = path.removeprefix("file://")
    return os.path.abspath(plain) if is_path(plain) else plain  # noqa: PTH100


def _main_file(path: str) -> str:
    """The main file of an answer folder; any other path as it is."""
    if "://" in path or not os.path.isfile(os.path.join(path, "run.json")):  # noqa: PTH113, PTH118
        return path
    from cuesta.api.answer import Answer

    return str(Answer(path).files[0])


def _read_file_options(workload: Workload) -> list[Option]:
    """`-1` and `-2`, where inputs may be read pairs in two files."""
    if not workload.paired_parameter:
        return []
    instead = f"{workload.inputs_metavar} with {workload.option_of(workload.paired_parameter)}"
    texts = {
        "-1": f"First reads of the pairs, instead of {instead}; may be repeated.",
        "-2": "Second reads of the pairs: each file is that of the -1 at the same place.",
        "-s": "Single reads beside pairs, such as those that lost their mate; may be repeated.",
    }
    return [
        Option(
            name=key, words=(word,), kind=str, help=texts[word], panel=WORKLOAD_PANEL, many=True,
            metavar="FILE", shown=False,
        )
        for word, key in _READ_FILE_OPTIONS.items()
    ]  # fmt: skip


def _workload_option(parameter: Parameter) -> Option:
    return Option(
        name=_key(parameter),
        words=(parameter.short, parameter.option) if parameter.short else (parameter.option,),
        kind=_TYPES.get(parameter.type, str),
        help=f"{parameter.help} {_allowed(parameter)}",
        panel=WORKLOAD_PANEL,
        default=parameter.default,
        metavar="|".join(parameter.choices) or genes.METAVARS.get(parameter.type),
        shown=parameter.none if parameter.default is None else True,
        choices=parameter.choices,
    )


def _allowed(parameter: Parameter) -> str:
    """The range of a number, as help shows it."""
    if parameter.minimum is None:
        return ""
    unit = f" {parameter.unit}" if parameter.unit not in ("", "1", "index") else ""
    if parameter.maximum is None:
        return f"At least {parameter.minimum:g}{unit}."
    return f"From {parameter.minimum:g} to {parameter.maximum:.9g}{unit}."


def _key(parameter: Parameter) -> str:
    """Name among the values, distinct from the shared options."""
    return f"parameter_{parameter.name}"


def _common(values: Mapping[str, Any]) -> Common:
    """The shared options in their own types. Errors: `InputError` naming the option."""
    return Common(
        engines=tuple(name.strip() for name in values["engines"].split(",") if name.strip()),
        threads=thread_limit(values["threads"]),
        memory_bytes=memory_limit(values["memory"]),
        scratch=values["scratch"],
        seed=values["seed"],
        engine_options=_engine_options(values),
        repeats=values["repeat"],
        cache=cache_of(values["cold"]),
        output=values["output"],
        overwrite=values["overwrite"],
        json=values["json"],
        verify=values["verify"],
        verbosity=Verbosity(
            quiet=values["quiet"],
            verbose=values["verbose"],
            timestamps=values["timestamps"],
            log_file=values["log_file"],
        ),
    )


def thread_limit(threads: int | None) -> int:
    """Cores that `--threads` allows. Errors: `InputError`."""
    from cuesta.machine import cores_usable

    if threads is not None and threads < 1:
        raise InputError(f"--threads is {threads}, give at least 1")
    cores = cores_usable()
    if threads is not None and threads > max(THREADS_MAX, cores):
        raise InputError(f"--threads is {threads:,}, give at most {THREADS_MAX:,}")
    return threads or cores


def memory_limit(size: str | None) -> int:
    """Bytes that `--memory` allows. Errors: `InputError`."""
    from cuesta.machine import memory_bytes

    least, most = 16 << 20, 1 << 60
    size_bytes = memory_bytes() // 2 if size is None else parse_size(size, "--memory")
    if size is None and size_bytes < least:
        raise InputError(
            f"half of the memory allotted to this process is {format_bytes(size_bytes)}, at least "
            f"{format_bytes(least)} is needed; ask the batch system for more memory, raise "
            "`ulimit -v`, or say how much to use with --memory"
        )
    if not least <= size_bytes <= most:
        bound, end = ("least", least) if size_bytes < least else ("most", most)
        raise InputError(f"--memory is {size}, give at {bound} {format_bytes(end)}")
    return size_bytes


def _engine_options(values: Mapping[str, Any]) -> dict[str, str]:
    chosen = {}
    for pair in values["engine_option"] or []:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InputError(f"--engine-option is {pair!r}, give KEY=VALUE")
        chosen[key] = value
    by_flag = {name: values[name] for name in _ENGINES_OF if values[name] is not None}
    engines = {name.strip() for name in values["engines"].split(",")}
    if chosen and engines <= {_NO_OPTIONS}:
        names = ", ".join(name for name in ENGINE_NAMES if name != _NO_OPTIONS)
        raise InputError(
            f"--engine-option {next(iter(chosen))}: engine {_NO_OPTIONS} has no options; leave it "
            f"out, or give an engine that has some: {names}"
        )
    for name in by_flag:
        if not engines & set(_ENGINES_OF[name]):
            raise InputError(
                f"--{name} is for engine {' and '.join(_ENGINES_OF[name])} only; leave it out"
            )
    return chosen | {name: str(value) for name, value in by_flag.items()}


def cache_of(word: str) -> str:
    """The state of the page cache that `--cold` asks for. Errors: `InputError`."""
    if word not in _CACHES:
        raise InputError(f"--cold is {word!r}, give --cold or --cold=machine")
    return _CACHES[word]


def make_trial(
    workload: Workload, inputs: tuple[str, ...], parameters: dict[str, object], common: Common
) -> Trial:
    """The trial that the options ask for, on the first of the engines.

    Settings of an engine are in it where it is the only engine; else they are in the plan.
    """
    engine = common.engines[0]
    defaults = common.engine_settings.get(engine, {}) if len(common.engines) == 1 else {}
    return Trial(
        workload=workload.name,
        engine=engine,
        inputs=inputs,
        parameters=parameters,
        threads=common.threads,
        memory_bytes=common.memory_bytes,
        seed=common.seed,
        engine_options={**defaults, **common.engine_options},
        names=common.names,
    )


def single_engine(common: Common) -> str:
    """The engine of `run`. Errors: `InputError` where there are none or several."""
    if len(common.engines) != 1:
        raise InputError("--engine takes one engine; `cuesta compare` takes several")
    return common.engines[0]


def make_plan(common: Common, command: tuple[str, ...]) -> Plan:
    """The plan of the options; `command` are the words of the command line, if it was one."""
    from cuesta.lab import ceilings
    from cuesta.lab.plan import Plan
    from cuesta.processes import age_seconds

    return Plan(
        output=common.output,
        overwrite=common.overwrite,
        repeats=common.repeats,
        cache=common.cache,
        scratch=common.scratch,
        ceilings=ceilings.load(common.threads),
        verify=common.verify,
        command=command,
        startup_seconds=age_seconds() if command else 0.0,
        settings=tuple(setting.record() for setting in common.settings),
        engine_settings=common.engine_settings,
    )
