"""Workloads: their parameters with unit, range and default, their inputs and answer files.

They are read from `spec/workloads/<name>/params.toml`, the single source of the command line's
options, of the checks and of the documentation.

Safe to change: sentences and previews. What breaks: an option that differs from `params.rs` fails
`tests/test_spec_parameters.py`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.errors import InputError
from cuesta.trial import Phase

if TYPE_CHECKING:
    from cuesta.trial import Trial
    from cuesta.workloads.needs import Needs

GENES = "genes"
"""Parameter with the number of genes, or in its place a file of their names."""

_SPEC = Path(__file__).parent.parent / "spec" / "workloads"

WORKLOAD_NAMES = tuple(sorted(page.parent.name for page in _SPEC.glob("*/params.toml")))
"""Workloads with a folder in `spec/workloads`."""

BALANCE_FLOPS_PER_BYTE = 8.0
"""Intensity above which arithmetic bounds a phase, not memory."""

_INT_MAX = (1 << 32) - 1
"""Largest whole number of a parameter without a maximum: counts in requests have 32 bits."""

_KINDS = {
    "int": "a whole number", "float": "a number", "text": "a word", "file": "a path",
    "flag": "true or false",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a workload.

    Attributes
    ----------
    name
        Name in records and requests, e.g. `min_abs_score`.
    type
        `float`, `int`, `choice`, `text`, `file` or `flag`.
    help
        Description in a sentence.
    unit
        `1` for a pure number, `samples`, `genes`...; empty for words.
    default
        Default value; None when `none` describes the meaning of no value.
    minimum, maximum
        Ends of the range, inclusive.
    choices
        Values of a `choice`.
    none
        Meaning of None, e.g. `no limit`; empty when None is not allowed.
    short
        Additional short option, e.g. `-k`.
    engines
        Engines that support a choice, by choice; a choice without an entry is for all.
    only
        Values of other parameters, by name, without which it changes nothing.
    without
        Name of a parameter that replaces it.
    """

    name: str
    type: str
    help: str
    unit: str = ""
    default: float | int | str | bool | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    none: str = ""
    short: str = ""
    engines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: Mapping[str, object] = field(default_factory=dict)
    without: str = ""

    @property
    def option(self) -> str:
        """Option of the command line, e.g. `--min-abs-score`."""
        return "--" + self.name.replace("_", "-")

    @property
    def range(self) -> str:
        """Range of the values, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = _KINDS[self.type]
        if self.minimum is not None and self.maximum is not None:
            return f"{kind} from {self.minimum:g} to {self.maximum:.9g}"
        if self.type == "int":
            return f"{kind} from {self.minimum or 0:g} to {_INT_MAX}"
        return f"{kind} of at least {self.minimum:g}" if self.minimum is not None else kind

    def check(self, value: object) -> float | int | str | bool | None:
        """Convert a value to the parameter's type. Errors: `InputError` with option and range."""
        if value is None and (self.none or self.default is None):
            return None
        try:
            return self._converted(value)
        except (TypeError, ValueError):
            raise InputError(f"{self.option} is {value}, give {self.range}") from None

    def holds(self, value: object) -> bool:
        """Whether a value is in the range and has the parameter's type, as a record must have it.

        A whole number is also a `float`.
        """
        try:
            checked = self.check(value)
            str(value).encode()
        except (InputError, OverflowError, UnicodeEncodeError):
            return False
        is_whole = isinstance(checked, float) and type(value) is int
        return is_whole or type(checked) is type(value)

    def _converted(self, value: object) -> float | int | str | bool:
        if self.type == "flag":
            if not isinstance(value, bool):
                raise ValueError
            return value
        if self.type in ("choice", "text", "file"):
            word = str(value)
            if (self.choices and word not in self.choices) or not word:
                raise ValueError
            return word
        number = float(str(value))
        if self.type == "int" and not number.is_integer():
            raise ValueError
        low, high = (0, _INT_MAX) if self.type == "int" else (-math.inf, math.inf)
        low = low if self.minimum is None else self.minimum
        high = high if self.maximum is None else self.maximum
        if not low <= number <= high or not math.isfinite(number):
            raise ValueError
        return int(number) if self.type == "int" else number


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A scientific computation with a written problem, parameters, an answer and a verifier.

    Attributes
    ----------
    name, summary
        Name, and description in a sentence.
    parameters
        Parameters in the order of the help.
    inputs_metavar, inputs_help
        Name and description of the inputs on the command line.
    inputs_minimum, inputs_maximum
        Number of inputs; no maximum when None.
    streams
        Whether standard input and pipes may be inputs.
    refused
        Unsupported files, by suffix: their kind, and the remedy.
    converter
        Module of this package that converts inputs for kernels; or empty.
    spills
        Function of `cuesta.workloads.needs` that estimates temporary files.
    paired_parameter, interleaved_parameter
        Parameters for read pairs in two files each, or interleaved in each file. Pairs of files may
        also be given with `-1` and `-2`. Empty where inputs have no read pairs.
    single_reads
        Parameter with the number of last files that have single reads in addition to pairs: those
        that are given with `-s`.
    answer
        Possible names of the answer's files and folders.
    ceilings
        Name of the ceiling of a phase, by phase, unless an engine reports another; or two: for its
        bytes and for its arithmetic, of which the slower applies.
    names
        Whether its answers may name genes: then `--genes` takes a file of names, or an integer
        where there is a parameter `genes`.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    inputs_metavar: str
    inputs_help: str
    inputs_minimum: int
    inputs_maximum: int | None
    converter: str
    paired_parameter: str
    interleaved_parameter: str
    single_reads: str
    answer: tuple[str, ...]
    streams: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    spills: str = "nothing"
    ceilings: Mapping[str, str | list[str]] = field(default_factory=dict)
    names: bool = False

    def check(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return all parameters, with defaults, each in its type.

        Errors: `InputError` naming the option that is unknown, out of its range, or would change
        nothing.
        """
        unknown = sorted(set(values) - {parameter.name for parameter in self.parameters})
        if unknown:
            raise InputError(f"{self.name} has no parameter {unknown[0]!r}; leave it out")
        checked: dict[str, object] = {
            parameter.name: parameter.check(values.get(parameter.name, parameter.default))
            for parameter in self.parameters
        }
        for parameter in self.parameters:
            if checked[parameter.name] != parameter.default:
                self._check_effect(parameter, checked)
        return checked

    def _check_effect(self, parameter: Parameter, checked: Mapping[str, object]) -> None:
        for name, value in parameter.only.items():
            if checked[name] != value:
                needed = self.option_of(name) + ("" if value is True else f" {value}")
                raise InputError(
                    f"{parameter.option} is for {needed} alone; leave it out, or give {needed}"
                )
        if parameter.without and checked[parameter.without] is not None:
            value = checked[parameter.name]
            raise InputError(
                f"{parameter.option} {value} with {self.option_of(parameter.without)}, which "
                "replaces it; leave one of them out"
            )

    def ceiling(self, phase: Mapping[str, Any]) -> str | None:
        """Return the ceiling of a phase, a mapping with `name` and perhaps `bytes` and `flops`.

        Phases whose names differ only in a number have the same ceiling.
        """
        name = phase["name"]
        flops, size_bytes = phase.get("flops") or 0, phase.get("bytes") or 0
        ceiling = self.ceilings.get(name) or self.ceilings.get(name.rstrip("0123456789 "))
        if ceiling is None or isinstance(ceiling, str):
            return ceiling
        moving, computing = ceiling
        return computing if flops > BALANCE_FLOPS_PER_BYTE * size_bytes else moving

    def phase(self, row: Mapping[str, Any]) -> Phase:
        """Make a phase of a row of a response, where 0 stands for a missing amount."""
        return Phase(
            name=row["name"],
            seconds=row["seconds"],
            bytes=row.get("bytes") or None,
            rows=row.get("rows") or None,
            flops=row.get("flops") or None,
            ceiling=row.get("ceiling") or self.ceiling(row),
        )

    def split_gene_names(
        self, values: Mapping[str, object]
    ) -> tuple[dict[str, object], str | None]:
        """Return the parameters, and separately the file of names in place of `genes`, if any."""
        genes = values.get(GENES)
        is_count = any(parameter.name == GENES for parameter in self.parameters)
        if not self.names or (is_count and (genes is None or _is_number(genes))):
            return dict(values), None
        parameters = {name: value for name, value in values.items() if name != GENES}
        return parameters, None if genes is None else str(genes)

    def check_engine(self, engine: str, parameters: Mapping[str, object]) -> None:
        """Check the choices for an engine. Errors: `InputError` for an unsupported choice."""
        for parameter in self.parameters:
            value = str(parameters.get(parameter.name))
            able = parameter.engines.get(value, (engine,))
            if engine not in able:
                raise InputError(
                    f"engine {engine} has no {parameter.option} {value}; take --engine "
                    f"{' or '.join(able)}"
                )

    def readable(self, trial: Trial, scratch: Path) -> tuple[Trial, tuple[Phase, ...]]:
        """Return the trial with converted copies of inputs in `scratch`, and phases of that.

        Errors: those of the converter.
        """
        if not self.converter:
            return trial, ()
        result: tuple[Trial, tuple[Phase, ...]] = import_module(
            f"cuesta.workloads.{self.converter}"
        ).readable(trial, scratch)
        return result

    def parts(self, trial: Trial, readable: Trial) -> list[tuple[str, ...]]:
        """Return what each input of a trial is in its `readable` form: itself, or copies."""
        if len(readable.inputs) == len(trial.inputs):
            return [(path,) for path in readable.inputs]
        result: list[tuple[str, ...]] = import_module(f"cuesta.workloads.{self.converter}").parts(
            trial, readable
        )
        return result

    def needs(self, trial: Trial, files: Sequence[tuple[str, int]]) -> Needs:
        """Estimate the needs of a run, from the paths and bytes of its inputs."""
        from cuesta.workloads import needs

        needed: Needs = getattr(needs, self.spills)(trial, files)
        return needed

    def option_of(self, name: str) -> str:
        """Return the option of the parameter called `name`."""
        return next(parameter.option for parameter in self.parameters if parameter.name == name)

    def check_inputs(self, inputs: tuple[str, ...]) -> None:
        """Check the inputs. Errors: `InputError` for their number, or an unsupported file."""
        for path in inputs:
            why = self.refused.get(path.rpartition(".")[2].lower())
            if why:
                raise InputError(f"{path}: {why.replace('FILE', shlex.quote(path))}")
        many, least, most = len(inputs), self.inputs_minimum, self.inputs_maximum
        if many < least or (most is not None and many > most):
            wanted = f"{least}" if most == least else f"at least {least}"
            noun = "input" if least == 1 else "inputs"
            example = f"`cuesta run {self.name} {' '.join([self.inputs_metavar] * least)} -o DIR`"
            remedy = f"give {wanted}, as in {example}"
            if not many and least == 1:
                remedy = f"give it, as in {example}"
            elif most == 1:
                remedy = f"give a single {self.inputs_metavar} a run, as in {example}"
            raise InputError(
                f"{self.name} takes {wanted} {noun} ({self.inputs_help.rstrip('.')}), got {many}; "
                f"{remedy}"
            )


@cache
def get_workload(name: str) -> Workload:
    """Return the workload called `name`. Errors: `InputError` when there is none."""
    if name not in WORKLOAD_NAMES:
        raise InputError(f"workload {name!r} is not known; choose from {', '.join(WORKLOAD_NAMES)}")
    table = _read(f"{name}/params.toml")
    shared = [row for other in table.get("uses", []) for row in _read(f"{other}.toml")["parameter"]]
    rows = [*table.get("parameter", []), *shared]
    inputs = table["inputs"]
    return Workload(
        name=name,
        summary=table["summary"],
        parameters=tuple(_parameter(row) for row in rows),
        inputs_metavar=inputs["metavar"],
        inputs_help=inputs["help"],
        inputs_minimum=inputs["minimum"],
        inputs_maximum=inputs.get("maximum"),
        converter=inputs.get("converter", ""),
        streams=inputs.get("streams", False),
        refused=inputs.get("refused", {}),
        paired_parameter=inputs.get("mates_apart", ""),
        interleaved_parameter=inputs.get("mates_in_turn", ""),
        single_reads=inputs.get("single_reads", ""),
        answer=tuple(table["answer"]),
        spills=table.get("spills", "nothing"),
        ceilings=table.get("ceilings", {}),
        names=table.get("names", False),
    )


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _parameter(row: dict[str, Any]) -> Parameter:
    engines = {choice: tuple(names) for choice, names in row.get("engines", {}).items()}
    return Parameter(**{**row, "choices": tuple(row.get("choices", ())), "engines": engines})


def _read(path: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads((_SPEC / path).read_text("utf-8"))
