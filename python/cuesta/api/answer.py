"""Results of the calls as values: an answer folder, a comparison or an assessment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from cuesta.errors import InputError
from cuesta.untrusted import read_json, within

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from cuesta.api.tables import Form
    from cuesta.api.temporary import TemporaryFolder

PathText = str | os.PathLike[str]
Record = dict[str, Any]


class Answer:
    """A verified answer and the record of the run that made it.

    `cuesta.run` returns one; `Answer(folder)` opens a folder that is there. An answer
    without `output` is in a temporary folder, which is removed with this object.

    Parameters
    ----------
    folder
        An answer folder, such as the command line makes.

    Attributes
    ----------
    output : pathlib.Path
        The answer folder.
    """

    def __init__(self, folder: PathText, _holds: TemporaryFolder | None = None) -> None:
        self.output = Path(folder).absolute()
        self._holds = _holds
        if not (self.output / "run.json").is_file():
            raise InputError(f"{self.output} is not an answer folder; it has no run.json")

    @cached_property
    def record(self) -> Record:
        """The run record: parameters, times, counts, machine; see `spec/formats/run-record.md`."""
        from cuesta.lab import record

        return record.read(self.output)

    @property
    def workload(self) -> str:
        """Name of the workload."""
        return str(self.record["workload"])

    @property
    def engine(self) -> str:
        """Name of the engine that computed the answer."""
        return str(self.record["engine"])

    @property
    def digest(self) -> str | None:
        """128 bits that are equal for equal answers of any engine; None if not verified."""
        digest: str | None = self.record["answer"]["digest"]
        return digest

    @property
    def counts(self) -> Mapping[str, int]:
        """Integers about the answer, such as `rows_kept`."""
        counts: Mapping[str, int] = self.record["answer"]["counts"]
        return counts

    @property
    def files(self) -> tuple[Path, ...]:
        """The files and folders of the answer, the main one first."""
        return tuple(within(self.output, name) for name in self._names)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables of the answer, the main one first."""
        from cuesta.api import tables

        return tables.names(self.output, self._names)

    @overload
    def table(
        self, name: str | None = None, as_: None = None, *, columns: Sequence[str] | None = None
    ) -> Any: ...
    @overload
    def table(
        self,
        name: str | None = None,
        *,
        as_: Literal["arrow"],
        columns: Sequence[str] | None = None,
    ) -> pa.Table: ...
    @overload
    def table(
        self,
        name: str | None = None,
        *,
        as_: Literal["pandas"],
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame: ...
    @overload
    def table(
        self,
        name: str | None = None,
        *,
        as_: Literal["polars"],
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame: ...
    @overload
    def table(
        self,
        name: str | None = None,
        *,
        as_: Literal["numpy"],
        columns: Sequence[str] | None = None,
    ) -> NDArray[np.void]: ...
    @overload
    def table(
        self,
        name: str | None = None,
        *,
        as_: Literal["python"],
        columns: Sequence[str] | None = None,
    ) -> dict[str, list[Any]]: ...
    def table(
        self,
        name: str | None = None,
        as_: Form | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> Any:
        """A table of the answer.

        Parameters
        ----------
        name
            One of `tables`; the main one when None.
        as_
            `arrow`, `pandas`, `polars`, `numpy` (a structured array) or `python` (a dictionary of
            lists); when None the first of these that is installed.
        columns
            Only these, in this order; all when None.

        Errors: `InputError` for a name that is not there, `EngineMissing` where a package is.
        """
        from cuesta.api import tables

        wish = tables.Wish(name=name, columns=columns, form=as_)
        return tables.table(self.output, self._names, wish)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Files of the answer in the order of the specification, then all others."""
        from cuesta.workloads import get_workload

        names = [str(file["name"]) for file in self.record["answer"]["files"]]
        for name in names:
            within(self.output, name)
        specified = get_workload(self.workload).answer
        ordered = [name for name in specified if name in names]
        return (*ordered, *(name for name in names if name not in (*ordered, "run.json")))

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        from cuesta.report.card import card

        return card(self.output)


class Comparison:
    """A question answered by several engines, whose answers are equal.

    `cuesta.compare` returns one; `Comparison(folder)` opens a folder that is there.

    Attributes
    ----------
    output : pathlib.Path
        The folder, with an answer folder an engine.
    """

    def __init__(self, folder: PathText, _holds: TemporaryFolder | None = None) -> None:
        self.output = Path(folder).absolute()
        self._holds = _holds
        if not (self.output / "compare.json").is_file():
            raise InputError(f"{self.output} is no comparison; it has no compare.json")

    @cached_property
    def record(self) -> Record:
        """The content of `compare.json`: engines, digests, times."""
        record: Record = read_json(self.output / "compare.json")
        return record

    @cached_property
    def answers(self) -> Mapping[str, Answer]:
        """The answer of each engine."""
        engines = self.record["engines"]
        return {name: Answer(within(self.output, name), self._holds) for name in engines}

    @property
    def digest(self) -> str:
        """The digest of all the answers."""
        return str(next(iter(self.record["digests"].values())))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.answers.values()))

    def _repr_html_(self) -> str:
        from cuesta.report.card import card

        return card(self.output)


class Assessment:
    """The measured quality of an assembly, as `cuesta.assess` returns it.

    Attributes
    ----------
    output : pathlib.Path
        The file in the answer folder.
    """

    def __init__(self, file: Path, _holds: object = None) -> None:
        self.output = file
        self._holds = _holds

    @cached_property
    def record(self) -> Record:
        """All measures; see `spec/formats/assessment.md`."""
        record: Record = read_json(self.output)
        return record

    def __repr__(self) -> str:
        from cuesta.report.assessment import about, measures

        rows = [" ".join(about(self.record))]
        for name, contigs, scaffolds in measures(self.record):
            of_scaffolds = f"scaffolds {scaffolds}" if scaffolds else ""
            rows.append(f"  {name}: {'; '.join(filter(None, (contigs, of_scaffolds)))}")
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        from cuesta.report.card import assessment_card

        return assessment_card(self.record)


def _text(answer: Answer) -> str:
    """Three lines: the workload, the answer's counts, the folder."""
    counts = ", ".join(
        f"{name.replace('_', ' ')} {value:,}" for name, value in list(answer.counts.items())[:6]
    )
    lines = (_verdict(answer), counts, str(answer.output))
    return f"{answer.workload} on {answer.engine}: " + "\n  ".join(lines)


def _verdict(answer: Answer) -> str:
    if answer.record["verified"] is None:
        return "not verified"
    level = answer.record["verification"].get("level", "full")
    part = "" if level == "full" else f" ({level})"
    return f"verified{part}, digest {answer.digest}"
