"""FAISS: Lloyd's iterations of its index of centres, in single precision."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np


def from_file(path: Path, shape: tuple[int, int], folder: Path) -> None:
    """From the file to files of centres and labels; `shape` is clusters and iterations."""
    points = np.ascontiguousarray(np.load(path), dtype=np.float32)
    clusters, iterations = shape
    model = faiss.Kmeans(
        points.shape[1], clusters, niter=iterations, max_points_per_centroid=len(points)
    )
    model.train(points, init_centroids=points[:clusters].copy())
    np.save(folder / "centres.npy", model.centroids)
    np.save(folder / "labels.npy", model.index.search(points, 1)[1][:, 0].astype(np.uint32))
