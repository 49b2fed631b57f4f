"""Calls on AnnData objects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.api.answer import Answer
from cuesta.api.calls import run
from cuesta.api.temporary import TemporaryFolder
from cuesta.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call on an AnnData object: the workload, its layer and the keywords of `cuesta.run`."""

    workload: str
    layer: str | None
    keywords: dict[str, Any]

    def answer(self, data: Any) -> Answer:
        """Run the workload. Errors: as `cuesta.run`; `InputError` for another object."""
        if not (hasattr(data, "obs_names") and hasattr(data, "var_names")):
            raise InputError(
                f"cuesta.tl.{self.workload} takes an AnnData object, not {type(data).__name__}; "
                f"give that to cuesta.run({self.workload!r}, ...)"
            )
        return run(self.workload, data, layer=self.layer, **self.keywords)

    def facts(self, answer: Answer) -> dict[str, Any]:
        """Return the facts of an answer for `uns`, in types that files of AnnData can hold."""
        parameters = {
            name: value
            for name, value in answer.record["parameters"].items()
            if value is not None and name not in ("delimiter", "decimal", "header", "traits")
        }
        if self.layer is not None:
            parameters["layer"] = self.layer
        counts = {name: int(count) for name, count in answer.counts.items()}
        return {"params": parameters, "digest": answer.digest or "", "counts": counts}


def target(data: Any, copy: bool) -> Any:
    """Return the object that is changed."""
    return data.copy() if copy else data


def by_gene(data: Any, table: Any) -> Any:
    """Return the rows of a pandas table with a column `name` in the order of the variables.

    A gene that the table lacks, since a filter left it out, has missing values.
    """
    from cuesta.workloads.matrix.table import unique

    names, _ = unique([str(name) for name in data.var_names])
    return table.set_index("name").reindex(names).set_axis(data.var_names)


def traits_file(data: Any, columns: Any, folder: TemporaryFolder) -> Path:
    """Write columns of `obs` as a table. Errors: `InputError` for an unknown one."""
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in data.obs:
            raise InputError(f"obs has no column {name!r} for traits; it has {', '.join(data.obs)}")
    path = folder.path / "traits.tsv"
    chosen = data.obs[names]
    chosen.set_axis([str(name) for name in data.obs_names]).to_csv(path, sep="\t")
    return path
