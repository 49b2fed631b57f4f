"""Polars: lazy frames on the streaming engine.

Tried on 1 GB and not better: all columns as text, `scan_lines` and splitting the line.
`POLARS_MAX_THREADS` is set by `bench/run.py`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from peers.pair_columns import INTEGERS, NAMES, SAMPLES, SCORE

_KEY = ("gene1", "gene2", "cluster")


def text(path: Path) -> pl.LazyFrame:
    """A file of pairs."""
    types: dict[str, type[pl.DataType]] = dict.fromkeys(INTEGERS, pl.Int32)
    types |= {SCORE: pl.Float64, SAMPLES: pl.String}
    return pl.scan_csv(
        path,
        separator="\t",
        has_header=False,
        schema={name: types[name] for name in NAMES},
        quote_char=None,
        infer_schema=False,
    )


def scan(frame: pl.LazyFrame, min_abs_score: float) -> pl.LazyFrame:
    """All columns of the rows that pass."""
    return frame.filter(pl.col(SCORE).abs().is_between(min_abs_score, 1.0))


def join(frames: tuple[pl.LazyFrame, pl.LazyFrame], min_abs_score: float, how: str) -> pl.LazyFrame:
    """Both versions matched, with the difference; in no order, where ours is sorted."""
    left, right = (scan(frame, min_abs_score).select(*_KEY, SCORE) for frame in frames)
    joined = left.join(
        right,
        on=_KEY,
        how="inner" if how == "inner" else "full",
        coalesce=True,
        suffix="_b",
        maintain_order="none",
    )
    a, b = pl.col(SCORE), pl.col(f"{SCORE}_b")
    side = (
        pl.when(b.is_null())
        .then(pl.lit("left"))
        .when(a.is_null())
        .then(pl.lit("right"))
        .otherwise(pl.lit("both"))
    )
    return joined.select(*_KEY, side.alias("side"), a, b, (b - a).alias("difference"))


def degrees(frame: pl.LazyFrame, min_abs_score: float) -> pl.LazyFrame:
    """In-degree and out-degree of every gene that has an edge."""
    edges = scan(frame, min_abs_score).select("gene1", "gene2")
    heads = edges.select(gene="gene2", inward=pl.lit(1), outward=pl.lit(0))
    tails = edges.select(gene="gene1", inward=pl.lit(0), outward=pl.lit(1))
    counted = pl.concat([heads, tails]).group_by("gene")
    return counted.agg(pl.col("inward").sum(), pl.col("outward").sum())


def to_text(frame: pl.LazyFrame, path: Path) -> None:
    """Write the rows as tab-separated text."""
    frame.sink_csv(
        path,
        separator="\t",
        include_header=False,
        quote_style="never",
        engine="streaming",
        maintain_order=False,
    )
