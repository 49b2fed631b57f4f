"""Workloads that read their input from a store, the page cache, or their own memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benches import rows
from benches.kmeans import our_centres, same_centres
from benches.store import shown, stated
from cuesta_store import control
from harness import native, stores
from harness.data import Pairs, Points, pairs_text, points_array
from harness.model import Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from harness.stores import RunningStore

STORE = "cuesta, store"
PAGE_CACHE = "cuesta, page cache"
RESIDENT = "cuesta, memory"
ANEW = "cuesta, page cache at each iteration"
CLUSTERS = 10
ITERATIONS = 5
MIN_ABS_SCORE = 0.8


def cases(size: Size) -> Iterator[Case]:
    """`scan` and `kmeans`."""
    text = pairs_text(size.folder, Pairs(genes=size.pick(200, 2000)))
    points = points_array(size.folder, Points(rows=size.pick(20_000, 20_000_000)))
    for make, path in ((scan, text), (kmeans, points)):
        memory_bytes = 2 * path.stat().st_size + 4 * stores.block_bytes(size)
        with stores.running(size, memory_bytes) as store, named(store):
            store.load(path)
            yield make(store, path)


@contextmanager
def named(store: RunningStore) -> Iterator[None]:
    """The store that `cuesta://` means in this process."""
    before = os.environ.get(control.VARIABLE)
    os.environ[control.VARIABLE] = str(store.folder)
    try:
        yield
    finally:
        del os.environ[control.VARIABLE]
        if before is not None:
            os.environ[control.VARIABLE] = before


def scan(store: RunningStore, path: Path) -> Case:
    """The rows of text that pass, written."""

    def contestant(name: str, source: str) -> Contestant:
        job = Job(workload="scan", inputs=(source,), parameters={"min_abs_score": MIN_ABS_SCORE})

        def work(folder: Path) -> None:
            native.run(job, folder)

        return Contestant(
            name=name,
            how=job.text,
            work=work,
            answer=lambda folder: rows.pairs(folder / "pairs.txt"),
        )

    return Case(
        name=f"scan, |score| >= {MIN_ABS_SCORE}, {stated(path.stat().st_size)}",
        contestants=(
            contestant(STORE, f"cuesta://{store.path(path)}"),
            contestant(PAGE_CACHE, str(path)),
        ),
        bars=(Ratio(ours=STORE, peer=PAGE_CACHE, at_least=0.95, text="0.95 of the page cache"),),
        amount=path.stat().st_size,
        unit="B",
        inputs=(path,),
    )


def kmeans(store: RunningStore, path: Path) -> Case:
    """Iterations that read their points anew, compared with those on points that stay in memory."""

    def contestant(name: str, source: str, keep: str) -> Contestant:
        job = Job(
            workload="kmeans",
            inputs=(source,),
            parameters={"clusters": CLUSTERS, "iterations": ITERATIONS, "keep": keep},
        )

        def work(folder: Path) -> Sample:
            phases = native.run(job, folder)["phases"]
            return Sample(
                seconds=sum(phase["seconds"] for phase in phases if "iteration" in phase["name"])
            )

        how = f"{job.text}; the phases named `iteration`"
        return Contestant(name=name, how=how, work=work, answer=our_centres)

    return Case(
        name=f"kmeans, {ITERATIONS} iterations, {stated(path.stat().st_size)}",
        contestants=(
            contestant(STORE, f"cuesta://{store.path(path)}", "none"),
            contestant(RESIDENT, str(path), "all"),
            contestant(ANEW, str(path), "none"),
        ),
        bars=(
            Ratio(ours=STORE, peer=RESIDENT, at_least=0.9, text="0.9 of points in memory"),
            shown(STORE, ANEW),
        ),
        amount=float(path.stat().st_size) * ITERATIONS,
        unit="B",
        inputs=(path,),
        same=same_centres,
    )
