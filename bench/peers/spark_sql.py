"""Spark: SQL over the text as CSV, and GraphX on the rows that pass.

GraphX ships with Spark; its Scala API is called through the gateway of PySpark. GraphFrames, which
carries a copy of GraphX, needs a jar from Maven Central and is not measured.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

from harness.model import THREADS
from peers.pair_columns import INTEGERS, NAMES, SAMPLES, SCORE


def missing() -> str | None:
    """Why Spark cannot be used here, or None."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'cuesta[spark]'"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "no Java here: apt-get install default-jre"
    return None


def session() -> Any:
    """The session of this process, whether or not it exists already."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    settings = {
        "spark.driver.memory": "6g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(THREADS),
        "spark.default.parallelism": str(THREADS),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{THREADS}]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def text(path: Path) -> Any:
    """A file of pairs as a frame."""
    types = dict.fromkeys(INTEGERS, "INT") | {SCORE: "DOUBLE", SAMPLES: "STRING"}
    schema = ", ".join(f"{name} {types[name]}" for name in NAMES)
    return session().read.schema(schema).options(sep="\t", quote="", header=False).csv(str(path))


def score_filter(min_abs_score: float) -> str:
    """The condition of a row that passes."""
    return f"{SCORE} BETWEEN {min_abs_score} AND 1 OR {SCORE} BETWEEN -1 AND -{min_abs_score}"


def scan(path: Path, min_abs_score: float, output: Path) -> None:
    """Write the rows that pass as text."""
    frame = text(path).where(score_filter(min_abs_score))
    frame.write.options(sep="\t", quote="", header=False).csv(str(output))


def communities(path: Path, min_abs_score: float, method: str, folder: Path) -> None:
    """Communities of the rows that pass, by GraphX, as text: gene, community."""
    spark = session()
    edges = text(path).where(score_filter(min_abs_score)).select("gene1", "gene2")
    edges.write.options(sep=" ").csv(str(folder / "edges"))
    jvm = spark.sparkContext._jvm
    graphx = jvm.org.apache.spark.graphx
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
    graph = graphx.GraphLoader.edgeListFile(
        spark.sparkContext._jsc.sc(), str(folder / "edges"), False, THREADS, level, level
    )
    tag = jvm.scala.reflect.ClassTag.Int()
    if method == "components":
        result = graphx.lib.ConnectedComponents.run(graph, tag, tag)
    else:
        result = graphx.lib.LabelPropagation.run(graph, 10, tag)
    result.vertices().saveAsTextFile(str(folder / "vertices"))
    graph.unpersist(True)
    _joined(folder)


def _joined(folder: Path) -> None:
    """`(gene,community)` of all parts as one table."""
    with (folder / "communities.tsv").open("w") as out:
        for part in sorted((folder / "vertices").glob("part-*")):
            for line in part.read_text().splitlines():
                out.write(line.strip("()").replace(",", "\t") + "\n")
