"""Options of `run` and `compare`: those of every workload from its `params.toml`, and the lab's."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from cuesta.errors import InputError
from cuesta.units import format_bytes, parse_size
from cuesta.workloads import Parameter, Workload

if TYPE_CHECKING:
    from cuesta.lab.run import Plan
    from cuesta.lab.trial import Trial

WORKLOAD_PANEL = "Workload"
ENGINE_PANEL = "Engine and machine"
OUTPUT_PANEL = "Measuring and output"

_TYPES: dict[str, type] = {"float": float, "int": int, "choice": str, "text": str, "flag": bool}
_ENGINES_OF = {"master": ("spark", "spark-scala"), "ranks": ("mpi",), "kernels": ("spark",)}
"""Engines that each flag for engines is for."""
_MATES = {"-1": "first_mates", "-2": "second_mates"}
"""Names in the signature of the options that take files of mates."""
_CACHES = {"": "as-is", "input": "input-dropped", "machine": "machine-dropped"}
_CACHE_HELP = (
    "Run cold: before every repeat drop the input's pages from the page cache, or with "
    "--cold=machine (root only) empty the whole cache."
)


@dataclass(frozen=True, kw_only=True)
class Common:
    """What the options that all workloads share say."""

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


class ColdCommand(TyperCommand):
    """A command that takes a bare `--cold` for `--cold=input`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        words = ["--cold=input" if word == "--cold" else word for word in args]
        return super().parse_args(ctx, words)


def make_command(
    workload: Workload,
    engines: inspect.Parameter,
    body: Callable[[Workload, tuple[str, ...], dict[str, object], Common], None],
) -> Callable[..., None]:
    """A function whose signature has the options of `workload`, for Typer to read."""

    def command(**values: Any) -> None:
        parameters = {one.name: values.pop(_key(one)) for one in workload.parameters}
        plain, mates = values.pop("inputs") or [], _mates_popped(values)
        if any(mates.values()):
            parameters[workload.mates_apart] = True
            plain = _two_by_two(workload, parameters, plain, mates)
        inputs = tuple(absolute(path) for path in plain)
        checked = workload.check(parameters)
        workload.check_inputs(inputs)
        body(workload, inputs, checked, _common(values))

    own = [*_mates_options(workload), *(_workload_option(one) for one in workload.parameters)]
    signature = inspect.Signature([_argument(workload), *own, engines, *_common_options()])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    command.__doc__ = workload.summary
    return command


def engine_option(name: str, default: str, text: str) -> inspect.Parameter:
    """The option that chooses the engine, or the engines."""
    declared = typer.Option(f"--{name}", help=text, rich_help_panel=ENGINE_PANEL)
    return keyword("engines", str, declared, default)


def keyword(name: str, kind: Any, declared: Any, default: Any = None) -> inspect.Parameter:
    """A keyword-only parameter that Typer reads; without a default it is required."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, declared],
        default=inspect.Parameter.empty if default is ... else default,
    )


def absolute(path: str) -> str:
    """An input as every process can open it; a URI stays as it is, unless it is a file's."""
    plain = path.removeprefix("file://")
    return plain if "://" in plain else os.path.abspath(plain)  # noqa: PTH100


def _argument(workload: Workload) -> inspect.Parameter:
    help_text = workload.inputs_help
    declared = typer.Argument(
        metavar=workload.inputs_metavar,
        help=help_text,
        show_default=False,
    )
    required = workload.inputs_minimum and not workload.mates_apart
    kind, default = (list[str], ...) if required else (list[str] | None, None)
    return keyword("inputs", kind, declared, default)


def _mates_options(workload: Workload) -> list[inspect.Parameter]:
    """`-1` and `-2`, where inputs may be mates of two files."""
    if not workload.mates_apart:
        return []
    instead = f"{workload.inputs_metavar} with {workload.option_of(workload.mates_apart)}"
    texts = {
        "-1": f"First mates, instead of {instead}; may be repeated.",
        "-2": "Second mates: each file is that of the -1 at the same place.",
    }
    return [
        keyword(
            key,
            list[str] | None,
            typer.Option(
                word, metavar="FILE", help=texts[word], rich_help_panel=WORKLOAD_PANEL,
                show_default=False,
            ),
        )
        for word, key in _MATES.items()
    ]  # fmt: skip


def _mates_popped(values: dict[str, Any]) -> dict[str, list[str]]:
    return {word: values.pop(key, None) or [] for word, key in _MATES.items()}


def _two_by_two(
    workload: Workload,
    parameters: Mapping[str, object],
    plain: list[str],
    mates: Mapping[str, list[str]],
) -> list[str]:
    """Files of mates as the workload takes them. Errors: `InputError`."""
    first, second = mates.values()
    if plain:
        raise InputError(f"{plain[0]} is neither -1 nor -2; write one of them before every file")
    if parameters.get(workload.mates_in_turn):
        other = workload.option_of(workload.mates_in_turn)
        raise InputError(f"-1 and -2 take mates in two files, {other} in one; give one")
    if len(first) != len(second):
        count = f"-1 has {_files(len(first))} and -2 {_files(len(second))}"
        raise InputError(f"{count}; give every file of mates with its other")
    return [path for pair in zip(first, second, strict=True) for path in pair]


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count or 'no'} files"


def _workload_option(one: Parameter) -> inspect.Parameter:
    kind = _TYPES[one.type]
    choices = list(one.choices)
    declared = typer.Option(
        *((one.short, one.option) if one.short else (one.option,)),
        help=f"{one.help} {_allowed(one)}",
        metavar="|".join(choices) or None,
        show_default=f"{one.none}" if one.default is None else True,
        rich_help_panel=WORKLOAD_PANEL,
        autocompletion=(lambda: choices) if choices else None,
    )
    return keyword(_key(one), kind if one.default is not None else kind | None, declared,
                   one.default)  # fmt: skip


def _allowed(one: Parameter) -> str:
    """The range of a number, as help shows it."""
    if one.minimum is None:
        return ""
    unit = f" {one.unit}" if one.unit not in ("", "1", "index") else ""
    if one.maximum is None:
        return f"At least {one.minimum:g}{unit}."
    return f"From {one.minimum:g} to {one.maximum:.9g}{unit}."


def _key(one: Parameter) -> str:
    """Name in the signature, kept apart from the lab's own options."""
    return f"parameter_{one.name}"


def _common_options() -> list[inspect.Parameter]:
    def engine(*words: str, help: str, **more: Any) -> Any:  # noqa: A002
        return typer.Option(*words, help=help, rich_help_panel=ENGINE_PANEL, **more)

    def measure(*words: str, help: str, **more: Any) -> Any:  # noqa: A002
        return typer.Option(*words, help=help, rich_help_panel=OUTPUT_PANEL, **more)

    threads = engine("--threads", help="Cores to use.", show_default="all this process may use")
    memory = engine(
        "--memory",
        metavar="SIZE",
        help="Hard limit, such as 8GiB or 500MB; work that does not fit goes to --scratch.",
        show_default="half of the machine's memory",
    )
    scratch = engine(
        "--scratch",
        metavar="DIR",
        help="Folder for what does not fit in memory.",
        show_default="next to the output",
    )
    master = engine("--master", metavar="URL", help="Spark master.", show_default="local[THREADS]")
    ranks = engine("--ranks", metavar="N", help="MPI ranks.", show_default="as --threads")
    kernels = engine("--kernels", metavar="native|numpy", help="What computes in Spark's tasks.",
                     show_default="native")  # fmt: skip
    option = engine(
        "--engine-option", metavar="KEY=VALUE", help="Setting of the engine; may be repeated."
    )
    seed = engine("--seed", help="Seed of whatever is drawn at random.")
    repeat = measure("--repeat", metavar="N", help="Run so often and give the median.")
    cold = measure("--cold", metavar="[=machine]", help=_CACHE_HELP)
    output = measure("-o", "--output", metavar="DIR", help="Answer folder to make.")
    overwrite = measure("--overwrite", help="Replace an answer that is there.")
    as_json = measure("--json", help="Print the record on stdout, all else on stderr.")
    return [
        keyword("threads", int | None, threads),
        keyword("memory", str | None, memory),
        keyword("scratch", Path | None, scratch),
        keyword("master", str | None, master),
        keyword("ranks", int | None, ranks),
        keyword("kernels", str | None, kernels),
        keyword("engine_option", list[str] | None, option),
        keyword("seed", int, seed, 0),
        keyword("repeat", int, repeat, 1),
        keyword("cold", str, cold, ""),
        keyword("output", Path, output, ...),
        keyword("overwrite", bool, overwrite, False),
        keyword("json", bool, as_json, False),
    ]


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
        cache=_cache(values["cold"]),
        output=values["output"],
        overwrite=values["overwrite"],
        json=values["json"],
    )


def thread_limit(given: int | None) -> int:
    """Cores that `--threads` allows. Errors: `InputError`."""
    from cuesta.lab.machine import cores_usable

    if given is not None and given < 1:
        raise InputError(f"--threads is {given}, give at least 1")
    return given or cores_usable()


def memory_limit(given: str | None) -> int:
    """Bytes that `--memory` allows. Errors: `InputError`."""
    from cuesta.lab.machine import memory_bytes

    least = 16 << 20
    size_bytes = memory_bytes() // 2 if given is None else parse_size(given, "--memory")
    if size_bytes < least:
        raise InputError(f"--memory is {given}, give at least {format_bytes(least)}")
    return size_bytes


def _engine_options(values: Mapping[str, Any]) -> dict[str, str]:
    options = {}
    for pair in values["engine_option"] or []:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InputError(f"--engine-option is {pair!r}, give KEY=VALUE")
        options[key] = value
    own = {name: values[name] for name in _ENGINES_OF if values[name] is not None}
    engines = {name.strip() for name in values["engines"].split(",")}
    for name in own:
        if not engines & set(_ENGINES_OF[name]):
            raise InputError(f"--{name} is for engine {' and '.join(_ENGINES_OF[name])} only")
    return options | {name: str(value) for name, value in own.items()}


def _cache(word: str) -> str:
    if word not in _CACHES:
        raise InputError(f"--cold is {word!r}, give --cold or --cold=machine")
    return _CACHES[word]


def make_trial(
    workload: Workload, inputs: tuple[str, ...], parameters: dict[str, object], common: Common
) -> Trial:
    """The trial that the options ask for, on the first of the engines."""
    from cuesta.lab.trial import Trial

    return Trial(
        workload=workload.name,
        engine=common.engines[0],
        inputs=inputs,
        parameters=parameters,
        threads=common.threads,
        memory_bytes=common.memory_bytes,
        seed=common.seed,
        engine_options=common.engine_options,
    )


def make_plan(common: Common) -> Plan:
    """How the options want it run."""
    from cuesta.lab import ceilings
    from cuesta.lab.run import Plan

    return Plan(
        output=common.output,
        overwrite=common.overwrite,
        repeats=common.repeats,
        cache=common.cache,
        scratch=common.scratch,
        ceilings=ceilings.load(common.threads),
        command=("cuesta", *sys.argv[1:]),
    )
