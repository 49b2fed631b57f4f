"""Spark MLlib: Lloyd's iterations in the JVM on vectors that are cached there.

Only the RDD interface takes first centres. It is called through the gateway of PySpark, so that the
timed part is Scala alone; the vectors are handed over and cached before.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from harness.model import THREADS
from peers import spark_sql

CHUNK_POINTS = 50_000


def vectors(path: Path) -> Any:
    """The points of a `.npy` file as a cached RDD of the JVM."""
    from pyspark.mllib.common import _py2java
    from pyspark.mllib.linalg import DenseVector

    context = spark_sql.session().sparkContext
    count = np.load(path, mmap_mode="r").shape[0]
    name = str(path)

    def rows(first: int) -> Any:
        chunk = np.load(name, mmap_mode="r")[first : first + CHUNK_POINTS]
        return map(DenseVector, chunk.astype(np.float64))

    starts = context.parallelize(range(0, count, CHUNK_POINTS), 2 * THREADS)
    cached = _py2java(context, starts.flatMap(rows)).cache()
    cached.count()
    return cached


def seconds(points: Any, first: Any, iterations: int, folder: Path) -> float:
    """Seconds of the training from `first`; saves the centres afterwards."""
    context = spark_sql.session().sparkContext
    linalg = context._jvm.org.apache.spark.mllib.linalg
    clustering = context._jvm.org.apache.spark.mllib.clustering
    centres = context._jvm.java.util.ArrayList()
    for row in np.asarray(first, dtype=float):
        values = context._gateway.new_array(context._jvm.double, len(row))
        for index, value in enumerate(row):
            values[index] = float(value)
        centres.add(linalg.DenseVector(values))
    algorithm = clustering.KMeans().setK(len(first)).setMaxIterations(iterations)
    algorithm = algorithm.setEpsilon(0.0).setInitialModel(clustering.KMeansModel(centres))
    started = time.perf_counter()
    model = algorithm.run(points.rdd())
    taken = time.perf_counter() - started
    np.save(folder / "centres.npy", [list(center.toArray()) for center in model.clusterCenters()])
    return taken
