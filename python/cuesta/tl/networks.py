"""`cuesta.tl.correlate` and `cuesta.tl.threshold`."""

from __future__ import annotations

from typing import Any

from cuesta.tl.objects import Call, target
from cuesta.workloads.matrix.table import unique


def threshold(
    adata: Any,
    *,
    layer: str | None = None,
    key_added: str = "threshold",
    copy: bool = False,
    **keywords: Any,
) -> Any:
    """Compare cut-offs of |r| and soft powers, and recommend one of each.

    Parameters
    ----------
    adata
        AnnData object of samples x genes.
    layer
        Layer in place of X; `raw` is `adata.raw.X`.
    key_added
        Key of `uns` for the results.
    copy
        Whether to return a changed copy.
    keywords
        Options of `cuesta.run("threshold", ...)`.

    Returns
    -------
    None, or the copy. `uns[key_added]` has the tables `thresholds` and `powers`, the recommended
    `threshold` and `power` where there is one, and `params`.

    Errors: as `cuesta.run`.
    """
    call = Call(workload="threshold", layer=layer, keywords=keywords)
    answer = call.answer(adata)
    changed = target(adata, copy)
    facts = call.facts(answer)
    facts["thresholds"] = answer.table("thresholds", as_="pandas")
    facts["powers"] = answer.table("powers", as_="pandas")
    if (millionths := answer.counts.get("recommended_millionths")) is not None:
        facts["threshold"] = millionths / 1e6
    if (power := answer.counts.get("recommended_power")) is not None:
        facts["power"] = power
    changed.uns[key_added] = facts
    return changed if copy else None


def correlate(
    adata: Any,
    *,
    layer: str | None = None,
    key_added: str = "correlations",
    copy: bool = False,
    **keywords: Any,
) -> Any:
    """Correlate all pairs of genes, and keep those of at least `min_abs_score`.

    Parameters
    ----------
    adata
        AnnData object of samples x genes.
    layer
        Layer in place of X; `raw` is `adata.raw.X`, of the same genes.
    key_added
        Key of `varp` and `uns` for the results.
    copy
        Whether to return a changed copy.
    keywords
        Options of `cuesta.run("correlate", ...)`, such as `min_abs_score=0.8`.

    Returns
    -------
    None, or the copy. `varp[key_added]` is a symmetric sparse matrix of genes x genes. With
    `p_values=True`, `uns[key_added]["edges"]` is the table of the pairs with `p` and `q`.

    Errors: as `cuesta.run`.
    """
    import pandas as pd
    from scipy.sparse import csr_matrix

    call = Call(workload="correlate", layer=layer, keywords=keywords)
    answer = call.answer(adata)
    changed = target(adata, copy)
    pairs = answer.table(as_="pandas", columns=["name1", "name2", "score"])
    names, _ = unique([str(name) for name in adata.var_names])
    first, second = (pd.Index(names).get_indexer(pairs[name]) for name in ("name1", "name2"))
    size = adata.n_vars
    upper = csr_matrix((pairs["score"], (first, second)), shape=(size, size))
    changed.varp[key_added] = (upper + upper.T).tocsr()
    facts = call.facts(answer)
    if "edges" in answer.tables:
        facts["edges"] = answer.table("edges", as_="pandas")
    changed.uns[key_added] = facts
    return changed if copy else None
