"""Run benches: every contestant in turn in one run, answers held equal, every sample kept.

    python bench/run.py [--smoke] [--repeats N] [--without PEER]... [--results DIR] [NAME...]
    python bench/run.py assembly_quality [--only PART,...] [--peers PEER,...]
    python bench/run.py --tables

Without names it runs all of them. Writes `bench/results/NAME.json`, the tables of `bench/README.md`
and the one of `README.md`; `--tables` writes these alone, of the results that are there. With
`--smoke`, seconds each, to see that the benches work, with `--only` or `--peers`, a part of a
bench, or with `--results`, the records go elsewhere and the tables stay as they are. The data is
kept in `$CUESTA_BENCH_DATA` or `bench/data`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from harness import headlines, results, table
from harness.measure import measure
from harness.model import THREADS, DifferentAnswer
from harness.size import Size

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
BENCHES = (
    "as_typed",
    "scan",
    "join",
    "degrees",
    "components",
    "pair_matrix",
    "correlate",
    "modules",
    "modules_large",
    "leiden",
    "dataflow",
    "kmeans",
    "spark_scan",
    "spark_floor",
    "memory",
    "least_memory",
    "sort",
    "hadoop_sort",
    "assembly",
    "assembly_quality",
    "assembly_scale",
    "store",
    "store_misses",
    "store_working_sets",
    "store_model",
    "two_level",
    "store_life",
    "store_workloads",
    "store_peers",
    "store_remote",
    "store_hadoop",
    "store_spark",
    "study_gate",
    "probe",
    "promptness",
    "predictions",
    "advise_choices",
    "study_tune",
)
THREADS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
REPEATS_SMOKE = 2
REPEATS_REAL = 9


def main(arguments: Sequence[str]) -> int:
    """Run the requested benches; 1 when answers differ or a contestant breaks, 2 for bad words."""
    options = parser().parse_args(arguments)
    if options.tables:
        tables()
        return 0
    names = options.names or list(BENCHES)
    if len(names) == 1:
        return 0 if run_bench(names[0], size_of(options), options.results) else 1
    # Each bench runs in a process of its own, without threads, memory or a JVM of another.
    words = [word for word in arguments if word not in names]
    failed = [name for name in names if not alone([name, *words])]
    if failed:
        print(f"bench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    summary, _, more = (__doc__ or "").partition("\n\n")
    made = argparse.ArgumentParser(prog="bench/run.py", description=summary, epilog=more)
    made.add_argument("names", nargs="*", choices=[[], *BENCHES], metavar="NAME")
    made.add_argument("--smoke", action="store_true", help="a size of seconds")
    made.add_argument("--repeats", type=int, help=f"{REPEATS_REAL}; with --smoke {REPEATS_SMOKE}")
    made.add_argument("--without", action="append", default=[], metavar="PEER", help="e.g. spark")
    made.add_argument("--only", type=names, metavar="PART,...", help="parts, e.g. ecoli,batch")
    made.add_argument("--peers", type=names, metavar="PEER,...", help="e.g. skesa,megahit or none")
    made.add_argument("--tables", action="store_true", help="write the tables anew, run nothing")
    made.add_argument("--results", type=Path, metavar="DIR", help="instead of bench/results")
    return made


def names(text: str) -> frozenset[str]:
    """Names between commas."""
    return frozenset(name.strip() for name in text.split(","))


def alone(words: Sequence[str]) -> bool:
    """Run this program with `words` as a process of its own."""
    return subprocess.run([sys.executable, __file__, *words], check=False).returncode == 0


def size_of(options: argparse.Namespace) -> Size:
    """The size of the benches that the options select."""
    return Size(
        smoke=options.smoke,
        repeats=options.repeats or (REPEATS_SMOKE if options.smoke else REPEATS_REAL),
        folder=Path(os.environ.get("CUESTA_BENCH_DATA") or HERE / "data").resolve(),
        without=frozenset(options.without),
        only=options.only or frozenset(),
        peers=options.peers,
    )


def run_bench(name: str, size: Size, elsewhere: Path | None) -> bool:
    """Run a bench and store its record; return False after printing why not."""
    print(f"bench {name}", file=sys.stderr, flush=True)
    started = time.perf_counter()
    # Before any library that reads them is loaded, and the machine before it is busy with us.
    os.environ.update(dict.fromkeys(THREADS_VARIABLES, str(THREADS)))
    size.folder.mkdir(parents=True, exist_ok=True)
    record = results.head(name, f"bench/run.py {name}", size)
    try:
        cases = import_module(f"benches.{name}").cases(size)
        record["cases"] = [results.of_case(measure(case, size)) for case in cases]
    except DifferentAnswer as error:
        print(f"bench {name}: different answers: {error}", file=sys.stderr)
        return False
    except Exception:
        print(f"bench {name}: {traceback.format_exc()}", file=sys.stderr)
        return False
    if elsewhere is None and (size.smoke or size.is_partial):
        elsewhere = size.folder / ("smoke" if size.smoke else "partial")
    results.write(record, (elsewhere or RESULTS) / f"{name}.json")
    print("\n".join([*table.bars([record]), "", *table.everybody(record), ""]), flush=True)
    if elsewhere is None:
        tables()
    print(f"bench {name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return True


def tables() -> None:
    """Write the tables of the stored results."""
    records = results.read_all(RESULTS)
    table.rewrite(HERE / "README.md", records)
    headlines.rewrite(HERE.parent / "README.md", HERE / "headlines.toml", records)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
