"""Comparison of functions of Python that return tables, in this process.

Functions share the process, its memory and its libraries: none is forked, since copies of threads
of data frames hang. So nothing is held to limits here, and a function that never returns is not
ended; `cuesta compare --command` runs programs apart.
"""

from __future__ import annotations

import gc
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.machine import cores_usable, memory_bytes
from cuesta.programs import record, verdicts
from cuesta.programs.answers.cells import Row
from cuesta.programs.answers.differences import of_tables
from cuesta.programs.answers.digests import Summary, check_columns, digest_of, is_ordered
from cuesta.programs.answers.rules import ORDERS, Rules, Tolerance
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer, checked_names, numbered
from cuesta.programs.answers.text import plain
from cuesta.programs.commands import Program
from cuesta.programs.plan import REPEATS, REPEATS_MAX, ProgramsPlan
from cuesta.programs.tree import Ended
from cuesta.programs.verdicts import Case

Function = Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class FunctionRules:
    """Rules of a comparison of functions, as those of `cuesta compare --command`."""

    key: Sequence[str] | str = ()
    tolerance: Mapping[str, float] | None = None
    rows: str = ""
    repeats: int = REPEATS
    seed: int = 0


class FunctionComparison:
    """Result of a comparison; in a notebook its page is shown.

    Attributes
    ----------
    record
        The fields of `programs.json`.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self.record = fields

    @property
    def equal(self) -> bool:
        """Whether all functions returned equal tables."""
        return bool(self.record["equal"])

    def rows(self) -> list[dict[str, Any]]:
        """A row for each function, as `pandas.DataFrame` and others take them."""
        from cuesta.report.programs_export import rows

        return rows(self.record)

    def markdown(self) -> str:
        """The table in Markdown."""
        from cuesta.report.programs_export import markdown

        return markdown(self.record)

    def latex(self) -> str:
        """The table in LaTeX."""
        from cuesta.report.programs_export import latex

        return latex(self.record)

    def report(self, output: str | Path = "report.html") -> Path:
        """Write the page. Errors: `InputError`."""
        from cuesta.report.programs import write_record

        return write_record(self.record, Path(output))

    def _repr_html_(self) -> str:
        from cuesta.report.programs import framed

        return framed(self.record)

    def __repr__(self) -> str:
        from cuesta.report.programs_words import lead

        return " ".join(lead(self.record))


def compare(functions: Mapping[str, Function], rules: FunctionRules) -> FunctionComparison:
    """Call all functions in a drawn order, and compare the tables that they return.

    A table is a list of rows (tuples or dictionaries), a dictionary of columns, an array, or
    anything of Arrow, pandas, Polars or DuckDB. Only calls are timed. Errors: `InputError`.
    """
    known = _checked(rules)
    if len(functions) < 2:
        raise InputError("compare: give at least two functions, such as {'a': f, 'b': g}")
    if not 1 <= rules.repeats <= REPEATS_MAX:
        raise InputError(f"repeats is {rules.repeats}, give 1 to {REPEATS_MAX:,}")
    cases = {name: Case(name=name, size="1") for name in functions}
    draw = random.Random(rules.seed)
    order: list[list[str]] = []
    reference: Table | None = None
    for _ in range(rules.repeats):
        names = [name for name, case in cases.items() if case.is_open]
        draw.shuffle(names)
        order.append(names)
        tables = {name: _called(cases[name], functions[name]) for name in names}
        for name in cases:
            table = tables.get(name)
            if table is not None:
                reference = _judged(cases[name], table, reference, known)
    programs = [
        Program(name=name, text=_name_of(function), words=())
        for name, function in functions.items()
    ]
    facts = record.Facts(
        plan=_plan(rules, known),
        programs=programs,
        cases=list(cases.values()),
        order=order,
        cores=range(cores_usable()),
        inputs={},
    )
    return FunctionComparison(record.build(facts, []))


def as_table(value: Any) -> Table:
    """A returned value as a table. Errors: `UnreadableAnswer`."""
    if "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].ndarray):
        from cuesta.programs.answers.arrays import of_arrays

        return of_arrays([value])
    if isinstance(value, Mapping):
        columns = checked_names([str(name) for name in value])
        return _table(columns, lambda: zip(*value.values(), strict=True))
    if isinstance(value, (list, tuple)):
        return _of_rows(value)
    return _of_arrow(value)


def _of_rows(value: Sequence[Any]) -> Table:
    if not value:
        raise UnreadableAnswer("it returned no rows")
    first = value[0]
    if isinstance(first, Mapping):
        names = tuple(first)
        if any(not isinstance(row, Mapping) or row.keys() != first.keys() for row in value):
            raise UnreadableAnswer("its rows have different keys")
        columns = checked_names([str(name) for name in names])
        return _table(columns, lambda: (tuple(row[name] for name in names) for row in value))
    rows = [row if isinstance(row, (list, tuple)) else (row,) for row in value]
    if len({len(row) for row in rows}) > 1:
        raise UnreadableAnswer("its rows have different numbers of cells")
    made = _table(numbered(len(rows[0])), lambda: rows)
    return Table(columns=made.columns, is_named=False, is_ordered=False, rows=made.rows)


def _of_arrow(value: Any) -> Table:
    """A table of a data frame, by the interface of Arrow."""
    try:
        import pyarrow as pa
    except ImportError:
        raise UnreadableAnswer(
            f"it returned a {type(value).__name__}, which needs pyarrow: pip install pyarrow"
        ) from None
    from cuesta.programs.answers.columns import rows_of

    try:
        if type(value).__module__.split(".")[0] == "pandas":
            made = pa.Table.from_pandas(value, preserve_index=False)
        elif isinstance(value, pa.RecordBatch):
            made = pa.Table.from_batches([value])
        else:
            made = pa.table(value)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise UnreadableAnswer(
            f"it returned a {type(value).__name__}, which is no table: {error}"
        ) from None

    def rows() -> Iterator[Row]:
        for batch in made.to_batches():
            yield from rows_of(batch)

    names = checked_names(made.column_names)
    return Table(columns=names, is_named=True, is_ordered=False, rows=rows)


def _table(columns: tuple[str, ...], rows: Callable[[], Any]) -> Table:
    def cells() -> Iterator[Row]:
        for row in rows():
            yield tuple([plain(_scalar(cell)) for cell in row])

    return Table(columns=columns, is_named=True, is_ordered=False, rows=cells)


def _scalar(value: Any) -> Any:
    """A scalar of NumPy as one of Python."""
    is_array_scalar = type(value).__module__ == "numpy" and hasattr(value, "item")
    return value.item() if is_array_scalar else value


def _called(case: Case, function: Function) -> Table | None:
    """Call a function once; None where it failed or returned no table."""
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.perf_counter()
    try:
        value = function()
    except Exception as error:
        case.judge(verdicts.FAILED, f"it raised {type(error).__name__}: {error}")
        value = None
    wall_seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    case.runs.append(
        Ended(
            wall_seconds=wall_seconds,
            exit_code=1 if case.verdict == verdicts.FAILED else 0,
            user_seconds=after.ru_utime - before.ru_utime,
            system_seconds=after.ru_stime - before.ru_stime,
            major_faults=after.ru_majflt - before.ru_majflt,
            waits=after.ru_nvcsw - before.ru_nvcsw,
            preemptions=after.ru_nivcsw - before.ru_nivcsw,
        )
    )
    if case.verdict == verdicts.FAILED:
        return None
    try:
        return as_table(value)
    except UnreadableAnswer as error:
        case.judge(verdicts.UNREADABLE, str(error))
        return None


def _judged(case: Case, table: Table, reference: Table | None, rules: Rules) -> Table | None:
    """Judge a case by the table of its last call; return the reference from now on."""
    try:
        check_columns(table, rules)
        ordered = is_ordered(table, rules)
        digest, count = digest_of(table, ordered=ordered, key=rules.key)
        is_first = case.summary is None
        case.digests.append(digest)
        if is_first:
            facts = Summary(digest=digest, size_bytes=0, columns=table.columns, rows=count,
                            is_ordered=ordered)  # fmt: skip
            case.summary = asdict(facts)
        if reference is None:
            case.judge(verdicts.REFERENCE)
            return table
        first = of_tables(table, reference, rules)
    except UnreadableAnswer as error:
        case.judge(verdicts.UNREADABLE, str(error))
        return reference
    if first is None:
        equal = verdicts.REFERENCE if case.verdict == verdicts.REFERENCE else verdicts.EQUAL
        case.judge(equal)
        return reference
    case.difference = asdict(first)
    words = "" if is_first else "its tables differ from call to call: "
    case.judge(verdicts.DIFFERENT if is_first else verdicts.UNSTABLE, f"{words}{first.sentence}")
    return reference


def _checked(rules: FunctionRules) -> Rules:
    if rules.rows not in ("", *ORDERS):
        raise InputError(f"rows is {rules.rows!r}, give one of {', '.join(ORDERS)}")
    key = (rules.key,) if isinstance(rules.key, str) else tuple(rules.key)
    tolerances = {}
    for column, amount in (rules.tolerance or {}).items():
        if not 0 <= amount < float("inf"):
            raise InputError(f"tolerance of {column!r} is {amount}, give a number of at least 0")
        tolerances[column] = Tolerance(relative=float(amount))
    return Rules(key=key, tolerances=tolerances, order=rules.rows)


def _plan(rules: FunctionRules, known: Rules) -> ProgramsPlan:
    here = Path.cwd()
    return ProgramsPlan(
        output=here / "comparison",
        here=here,
        answer="the returned table",
        form=Form(kind="table"),
        rules=known,
        threads=cores_usable(),
        memory_bytes=memory_bytes(),
        repeats=rules.repeats,
        seed=rules.seed,
    )


def _name_of(function: Function) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{getattr(function, '__module__', '')}.{name}".removeprefix("__main__.")
