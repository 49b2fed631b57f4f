"""What a workload is: its parameters with unit, range and default, its inputs and answer files.

Everything is read from `spec/workloads/<name>/params.toml`, the one source of the command line's
options, of the checks and of the documentation.
"""

from __future__ import annotations

import math
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
"""The parameter that says how many genes there are, in whose place names of them may be given."""

_SPEC = Path(__file__).parent.parent / "spec" / "workloads"

WORKLOAD_NAMES = tuple(sorted(page.parent.name for page in _SPEC.glob("*/params.toml")))
"""Those that have a folder in `spec/workloads`."""

BALANCE_FLOPS_PER_BYTE = 8.0
"""Where a phase does more than this, arithmetic bounds it, not memory."""

_KINDS = {
    "int": "a whole number", "float": "a number", "text": "a word", "flag": "true or false",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a workload.

    Attributes
    ----------
    name
        As in records and requests, e.g. `min_abs_score`.
    type
        `float`, `int`, `choice`, `text` or `flag`.
    help
        One sentence.
    unit
        `1` for a pure number, `samples`, `genes`...; empty for words.
    default
        None when `none` says what leaving it out means.
    minimum, maximum
        Ends of the range, both allowed.
    choices
        What a `choice` may be.
    none
        What None means, e.g. `no limit`; empty when None is not allowed.
    short
        A second, short option, e.g. `-k`.
    engines
        By choice, the engines that alone have it; a choice that is not named is for all.
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

    @property
    def option(self) -> str:
        """The option of the command line, e.g. `--min-abs-score`."""
        return "--" + self.name.replace("_", "-")

    @property
    def range(self) -> str:
        """What is allowed, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = _KINDS[self.type]
        if self.minimum is not None and self.maximum is not None:
            return f"{kind} from {self.minimum:g} to {self.maximum:.9g}"
        return f"{kind} of at least {self.minimum:g}" if self.minimum is not None else kind

    def check(self, value: object) -> float | int | str | bool | None:
        """`value` in the parameter's own type. Errors: `InputError` with option and range."""
        if value is None and (self.none or self.default is None):
            return None
        try:
            return self._converted(value)
        except (TypeError, ValueError):
            raise InputError(f"{self.option} is {value}, give {self.range}") from None

    def _converted(self, value: object) -> float | int | str | bool:
        if self.type == "flag":
            if not isinstance(value, bool):
                raise ValueError
            return value
        if self.type in ("choice", "text"):
            word = str(value)
            if (self.choices and word not in self.choices) or not word:
                raise ValueError
            return word
        number = float(str(value))
        if self.type == "int" and not number.is_integer():
            raise ValueError
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        if not low <= number <= high or not math.isfinite(number):
            raise ValueError
        return int(number) if self.type == "int" else number


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A scientific computation with a written problem, parameters, an answer and a verifier.

    Attributes
    ----------
    name, summary
        The word, and one sentence.
    parameters
        In the order that help lists them.
    inputs_metavar, inputs_help
        How the command line names and explains the inputs.
    inputs_minimum, inputs_maximum
        How many inputs there must be; no maximum when None.
    streams
        Whether standard input and pipes may be inputs.
    refused
        By ending of a name, what such a file is and what to do with it.
    converter
        The module of this package that brings inputs into a form which kernels read; or empty.
    spills
        The function of `cuesta.workloads.needs` that says what goes to temporary files.
    mates_apart, mates_in_turn
        Parameters that say that inputs are mates: of two files each, or in turn in each file. Those
        of two files may be given with `-1` and `-2` as well. Empty where inputs have no mates.
    single_reads
        The parameter that says how many of the last files have single reads beside mates: those
        that are given with `-s`.
    answer
        Names the answer's files and folders may have.
    ceilings
        By phase, the name of the ceiling that bounds it where an engine says no other; or two: of
        the bytes that it moves and of its arithmetic, whichever of them takes longer.
    names
        Whether its answers may name genes: `--genes` takes a file of names then, or a whole number
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
    mates_apart: str
    mates_in_turn: str
    single_reads: str
    answer: tuple[str, ...]
    streams: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    spills: str = "nothing"
    ceilings: Mapping[str, str | list[str]] = field(default_factory=dict)
    names: bool = False

    def check(self, given: Mapping[str, object]) -> dict[str, object]:
        """All parameters, defaults filled in, each in its own type.

        Errors: `InputError` naming the option that is unknown or out of its range.
        """
        unknown = sorted(set(given) - {parameter.name for parameter in self.parameters})
        if unknown:
            raise InputError(f"{self.name} has no parameter {unknown[0]!r}")
        return {one.name: one.check(given.get(one.name, one.default)) for one in self.parameters}

    def ceiling(self, phase: Mapping[str, Any]) -> str | None:
        """The ceiling of a phase: what has `name` and, where they are known, `bytes` and `flops`.

        Phases of one name and different numbers have one ceiling.
        """
        name = phase["name"]
        flops, size_bytes = phase.get("flops") or 0, phase.get("bytes") or 0
        found = self.ceilings.get(name) or self.ceilings.get(name.rstrip("0123456789 "))
        if found is None or isinstance(found, str):
            return found
        moving, computing = found
        return computing if flops > BALANCE_FLOPS_PER_BYTE * size_bytes else moving

    def phase(self, row: Mapping[str, Any]) -> Phase:
        """A phase as a response tells it; 0 stands for a measure that it does not have."""
        return Phase(
            name=row["name"],
            seconds=row["seconds"],
            bytes=row.get("bytes") or None,
            rows=row.get("rows") or None,
            flops=row.get("flops") or None,
            ceiling=row.get("ceiling") or self.ceiling(row),
        )

    def apart(self, given: Mapping[str, object]) -> tuple[dict[str, object], str | None]:
        """The parameters, and the file of names that stood in the place of `genes`, if one did."""
        genes = given.get(GENES)
        counted = any(one.name == GENES for one in self.parameters)
        if not self.names or (counted and (genes is None or _is_number(genes))):
            return dict(given), None
        others = {name: value for name, value in given.items() if name != GENES}
        return others, None if genes is None else str(genes)

    def check_engine(self, engine: str, parameters: Mapping[str, object]) -> None:
        """Errors: `InputError` for a choice that the engine of that name does not have."""
        for one in self.parameters:
            value = str(parameters.get(one.name))
            able = one.engines.get(value, (engine,))
            if engine not in able:
                raise InputError(
                    f"engine {engine} has no {one.option} {value}; take --engine "
                    f"{' or '.join(able)}"
                )

    def readable(self, trial: Trial, scratch: Path) -> tuple[Trial, tuple[Phase, ...]]:
        """The trial with copies in `scratch` for inputs that kernels do not read, and the phases.

        Errors: those of the converter.
        """
        if not self.converter:
            return trial, ()
        found: tuple[Trial, tuple[Phase, ...]] = import_module(
            f"cuesta.workloads.{self.converter}"
        ).readable(trial, scratch)
        return found

    def needs(self, trial: Trial, files: Sequence[tuple[str, int]]) -> Needs:
        """What a run will need, by the paths and bytes of its input."""
        from cuesta.workloads import needs

        found: Needs = getattr(needs, self.spills)(trial, files)
        return found

    def option_of(self, name: str) -> str:
        """The option of the parameter called `name`."""
        return next(one.option for one in self.parameters if one.name == name)

    def check_inputs(self, inputs: tuple[str, ...]) -> None:
        """Errors: `InputError` when there are too few or too many, or one is of a refused kind."""
        for path in inputs:
            why = self.refused.get(path.rpartition(".")[2].lower())
            if why:
                raise InputError(f"{path}: {why.replace('FILE', path)}")
        many, least, most = len(inputs), self.inputs_minimum, self.inputs_maximum
        if many < least or (most is not None and many > most):
            wanted = f"{least}" if most == least else f"at least {least}"
            noun = "input" if least == 1 else "inputs"
            raise InputError(f"{self.name} takes {wanted} {noun} ({self.inputs_help}), got {many}")


@cache
def get_workload(name: str) -> Workload:
    """The workload called `name`. Errors: `InputError` when there is none."""
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
        mates_apart=inputs.get("mates_apart", ""),
        mates_in_turn=inputs.get("mates_in_turn", ""),
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
