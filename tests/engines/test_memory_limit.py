"""`--memory` holds for all processes of a run together: the kernel itself enforces it here."""

from __future__ import annotations

import gzip
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from assemblykit import drawn, reads_of, write_fastq
from cuesta.cli.app import call
from cuesta.engines import get_engine
from harness import limits

MIB = 1 << 20
LIMITS = {"native": 64 * MIB, "mpi": 256 * MIB, "spark": 1536 * MIB}
SPARK_DAILY = ("correlate", "communities", "sort", "assemble")
"""Workloads with the most memory: a session of Spark takes half a minute under such a limit."""
PYTHON_BYTES = 32 * MIB
"""Memory of the command's interpreter, added to the limit of engine `native`."""


def generated(words: str, folder: Path) -> str:
    """Return the output of `cuesta data make`."""
    path = folder / words.split()[0]
    assert call(["data", "make", *words.split(), "--seed", "3", "-o", str(path)]) == 0
    return str(path)


def reads(folder: Path) -> str:
    genome = drawn(100_000, 3)
    return str(write_fastq(folder / "reads.fq", reads_of(genome, 40, 0.002, 4)))


pairs = partial(generated, "clusters --genes 900 --samples 90 --pairs 200000")
matrix = partial(generated, "matrix --genes 900 --samples 60")
records = partial(generated, "tera --rows 400000")
points = partial(generated, "points --rows 600000 --dimensions 20")
images = partial(generated, "images --images 24 --height 1024 --width 1024")

QUESTIONS: dict[str, tuple[str, list[Callable[[Path], str]]]] = {
    "scan": ("--min-abs-score 0.3", [pairs]),
    "join": ("--min-abs-score 0.3", [pairs, pairs]),
    "degrees": ("", [pairs]),
    "communities": ("--method label-propagation", [pairs]),
    "load": ("", [pairs]),
    "correlate": ("--min-abs-score 0.5", [matrix]),
    "sort": ("", [records]),
    "kmeans": ("--clusters 8 --iterations 3", [points]),
    "dataflow": ("--blocks 32 --block-vectors 262144", []),
    "images": ("", [images]),
    "assemble": ("-k 31", [reads]),
    "threshold": ("", [matrix]),
    "modules": ("", [matrix]),
    "ioread": ("", [records]),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[Path], str]], str]:
    """Inputs by the words that make them, each made once."""
    folder, made_inputs = tmp_path_factory.mktemp("inputs"), {}

    def get(make: Callable[[Path], str]) -> str:
        if make not in made_inputs:
            made_inputs[make] = make(folder)
        return made_inputs[make]

    return get


@pytest.mark.parametrize("workload", QUESTIONS)
@pytest.mark.parametrize("name", LIMITS)
def test_all_processes_of_a_run_stay_within_the_limit(
    name: str, workload: str, inputs: Callable[[Callable[[Path], str]], str], tmp_path: Path
) -> None:
    if name == "spark" and workload not in SPARK_DAILY and not os.environ.get("CUESTA_SOAK"):
        pytest.skip("its tasks are those of the others; in `make soak`")
    options, makers = QUESTIONS[workload]
    hold(name, [workload, *map(inputs, makers), *options.split()], tmp_path)


@pytest.mark.parametrize("name", ["mpi", "spark"])
def test_numpy_remains_within_the_limit_however_large_a_fused_block_is(
    name: str, tmp_path: Path
) -> None:
    """Each task stored a block of 768 MiB. Now NumPy works in pieces."""
    words = ["dataflow", "--blocks", "2", "--block-vectors", str(1 << 25), "--kernels", "numpy"]
    hold(name, words, tmp_path)


def rows(genes: int, samples: int, name: str = "g{}") -> Iterator[str]:
    """Write the lines of a matrix, of values that compress to about half."""
    noise = random.Random(1)
    values = [f"{noise.uniform(0, 100):.6f}" for _ in range(10_000)]
    yield "\t".join(f"s{sample}" for sample in range(samples))
    for gene in range(genes):
        yield "\t".join([name.format(gene), *noise.choices(values, k=samples)])


SHAPES: dict[str, Callable[[], Iterator[str]]] = {
    "as many samples as genes": partial(rows, 2000, 3000),
    "many samples": partial(rows, 30, 200_000),
    "few samples": partial(rows, 1_000_000, 2),
    "long names": partial(rows, 80_000, 2, "g{}" + 500 * "x"),
}


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".csv.gz"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_matrix_beyond_the_limit_is_refused_and_takes_no_more(
    shape: str, suffix: str, tmp_path: Path
) -> None:
    """A gzipped matrix took 1.3 to 1.6 times `--memory`, and the kernel killed the run: its
    compressed bytes and its text were in memory together, and the needs of lines and names were not
    counted, several times as much for short lines. Now such a matrix is refused.
    """
    path = tmp_path / f"matrix{suffix}"
    text = "\n".join(SHAPES[shape]())
    text = text.replace("\t", ",") if ".csv" in suffix else text
    content = text.encode()
    path.write_bytes(gzip.compress(content, 1) if suffix.endswith(".gz") else content)
    with pytest.raises(RuntimeError, match=r"code 2: [^$]*raise --memory"):
        hold("native", ["correlate", str(path), "--min-abs-score", "0.9"], tmp_path)


def hold(name: str, words: list[str], folder: Path) -> None:
    """Run a workload on an engine, with the limit enforced by the kernel."""
    engine = get_engine(name)
    if words[0] not in engine.workloads:
        pytest.skip("not a workload of this engine")
    if missing := engine.missing():
        pytest.skip(missing)
    with limits.control_group(LIMITS[name]) as group:
        if group is None:
            pytest.skip("no control group may be made here")
    command = [str(Path(sys.executable).with_name("cuesta")), "run", *words]
    command += ["--engine", name, "--threads", "2", "--memory", str(LIMITS[name])]
    command += ["-o", str(folder / "answer")]
    extra_bytes = PYTHON_BYTES if name == "native" else 0
    limits.run(command, LIMITS[name] + extra_bytes, data_segment=False)
