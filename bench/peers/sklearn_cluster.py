"""scikit-learn: Lloyd's iterations on the cores that OpenMP is given."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans


def fit(points: Any, clusters: int, iterations: int) -> Any:
    """The model after so many iterations from the first points."""
    model = KMeans(
        clusters,
        init=points[:clusters].copy(),
        n_init=1,
        max_iter=iterations,
        tol=0,
        algorithm="lloyd",
    )
    return model.fit(points)


def from_file(path: Path, shape: tuple[int, int], folder: Path) -> None:
    """From the file to files of centres and labels; `shape` is clusters and iterations."""
    save(fit(np.load(path), *shape), folder)


def seconds(points: Any, shape: tuple[int, int], folder: Path) -> float:
    """Seconds of the fit alone; the model is saved afterwards."""
    started = time.perf_counter()
    model = fit(points, *shape)
    taken = time.perf_counter() - started
    save(model, folder)
    return taken


def save(model: Any, folder: Path) -> None:
    """Centres and labels as `.npy`."""
    np.save(folder / "centres.npy", model.cluster_centers_)
    np.save(folder / "labels.npy", model.labels_.astype(np.uint32))
