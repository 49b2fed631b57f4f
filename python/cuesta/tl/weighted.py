"""`cuesta.tl.modules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuesta.api.temporary import TemporaryFolder
from cuesta.tl.objects import Call, by_gene, target, traits_file
from cuesta.workloads.matrix.memory import matrix_in_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cuesta.api.answer import Answer

VALUES_MIN = 4
"""Fewest common samples of a correlation."""


def modules(
    adata: Any,
    *,
    traits: str | list[str] | None = None,
    layer: str | None = None,
    copy: bool = False,
    **keywords: Any,
) -> Any:
    """Group genes into modules with eigengenes, as WGCNA does.

    Parameters
    ----------
    adata
        AnnData object of samples x genes.
    traits
        Columns of `obs` that are correlated with the eigengenes.
    layer
        Layer in place of X; `raw` is `adata.raw.X`, of the same genes.
    copy
        Whether to return a changed copy.
    keywords
        Options of `cuesta.run("modules", ...)`, such as `network="signed"`.

    Returns
    -------
    None, or the copy, with

    - `var`: `module` (categorical, 0 is grey), `module_color`, `kme` and `is_hub`, the gene of each
      module with the largest kme;
    - `varm["kME"]`: Pearson's correlation of each gene with each eigengene;
    - `obsm["eigengenes"]`: eigengenes of the samples;
    - `uns["modules"]`: `params`, `digest`, `power`, and the tables `traits` and `powers`;
      `uns["module_colors"]`: a colour for each category.

    Errors: as `cuesta.run`; `InputError` for a trait that `obs` has not.
    """
    folder = TemporaryFolder()
    try:
        words = dict(keywords)
        if traits is not None:
            words["traits"] = traits_file(adata, traits, folder)
        call = Call(workload="modules", layer=layer, keywords=words)
        answer = call.answer(adata)
    finally:
        folder.remove()
    changed = target(adata, copy)
    _write(changed, answer, call)
    return changed if copy else None


def _write(data: Any, answer: Answer, call: Call) -> None:
    import pandas as pd

    table = by_gene(data, answer.table("modules", as_="pandas"))
    eigengenes = answer.table("eigengenes", as_="pandas").drop(columns="sample")
    eigengenes.index = data.obs_names
    colours = _colours(answer)
    names = [str(label) for label in range(len(colours))]
    labels = table["module"].map(lambda label: str(int(label)), na_action="ignore")
    data.var["module"] = pd.Categorical(labels, categories=names)
    colour_of = dict(zip(names, colours, strict=True))
    data.var["module_color"] = pd.Categorical(labels.map(colour_of), categories=colours)
    data.var["kme"] = table["kme"].astype(float)
    hubs = table[table["module"] > 0].groupby("module")["kme"].idxmax()
    data.var["is_hub"] = data.var_names.isin(hubs)
    data.obsm["eigengenes"] = eigengenes
    if eigengenes.shape[1]:
        values = matrix_in_memory(data, call.layer).rows(0, data.n_vars)
        kme = _memberships(values, eigengenes.to_numpy(), bool(call.keywords.get("log2")))
        data.varm["kME"] = pd.DataFrame(kme, index=data.var_names, columns=eigengenes.columns)
    facts = call.facts(answer)
    facts["power"] = answer.counts["power"]
    for name in ("traits", "powers"):
        if name in answer.tables:
            facts[name] = answer.table(name, as_="pandas")
    data.uns["modules"] = facts
    data.uns["module_colors"] = [_css(colour) for colour in colours]


def _colours(answer: Answer) -> list[str]:
    """Return the names of the colours of modules, from 0."""
    text = (answer.output / "modules.gmt").read_text(encoding="utf-8")
    return ["grey", *(line.split("\t", 1)[0] for line in text.splitlines())]


def _css(colour: str) -> str:
    from cuesta.workloads.colours import css

    return css(colour)


def _memberships(values: Any, eigengenes: Any, log2: bool) -> NDArray[np.float64]:
    """Return the correlation of each row with each column over the samples that both have."""
    import numpy as np

    rows = np.asarray(values, dtype=float)
    rows = np.log2(rows + 1.0) if log2 else rows
    used = ~np.isnan(eigengenes).any(axis=1)
    rows, columns = rows[:, used], eigengenes[used]
    present = ~np.isnan(rows)
    rows = np.where(present, rows - np.nanmean(rows, axis=1, keepdims=True), 0.0)
    weights = present.astype(float)
    count = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (weights @ columns) / count
        squares = weights @ columns**2 - count * mean**2
        result = (rows @ columns) / np.sqrt((rows**2).sum(axis=1, keepdims=True) * squares)
    few = (count < VALUES_MIN) | ~np.isfinite(result)
    clipped: NDArray[np.float64] = np.where(few, np.nan, np.clip(result, -1.0, 1.0))
    return clipped
