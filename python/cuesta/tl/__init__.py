"""Tools for AnnData objects in the manner of scanpy: they write their results into the object.

>>> import cuesta
>>> cuesta.tl.threshold(adata)
>>> cuesta.tl.modules(adata, traits=["age", "sex"], network="signed")
>>> adata.var["module"], adata.varm["kME"], adata.obsm["eigengenes"]

Observations are samples and variables are genes. For data frames and arrays there is `cuesta.run`.
"""

from cuesta.tl.networks import correlate, threshold
from cuesta.tl.weighted import modules

__all__ = ["correlate", "modules", "threshold"]
