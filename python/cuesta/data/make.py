"""Seeded synthetic inputs: what kinds there are and which options each takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuesta.machine import cores_usable
from cuesta.native import native_module

Value = bool | int | float | str | None


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a kind; the kernel checks its range."""

    name: str
    type: type[bool] | type[int] | type[float] | type[str]
    help: str
    required: bool = False
    default: Value = None


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of synthetic input."""

    name: str
    help: str
    options: tuple[Option, ...]


_GENES = Option(name="genes", type=int, help="Genes, at least 2.", required=True)
_SAMPLES = Option(name="samples", type=int, help="Samples.", required=True)
_SEED = Option(name="seed", type=int, help="The same seed makes the same bytes.", default=0)

KINDS = (
    Kind(
        name="clusters",
        help="Gene pairs as KINC version-1 text, with modules, clusters and missing samples.",
        options=(
            _GENES,
            _SAMPLES,
            Option(name="pairs", type=int, help="Gene pairs; all of the triangle when not given."),
            Option(name="clusters", type=int, help="Most clusters a pair.", default=1),
            Option(
                name="variant",
                type=int,
                help="Another version of the same pairs, for join; 0 is the first.",
                default=0,
            ),
            Option(
                name="tree", type=bool, help="A clusters-sc/NNN/ tree, not a file.", default=False
            ),
            _SEED,
        ),
    ),
    Kind(
        name="matrix",
        help="An expression matrix, genes x samples, with modules of genes that correlate.",
        options=(
            _GENES,
            _SAMPLES,
            Option(name="missing", type=float, help="Fraction of missing values.", default=0.0),
            _SEED,
        ),
    ),
    Kind(
        name="tera",
        help="Records of 100 bytes for sort: those of Hadoop's TeraGen, or harder ones.",
        options=(
            Option(name="rows", type=int, help="Records.", required=True),
            Option(name="first", type=int, help="Number of the first record.", default=0),
            Option(
                name="kind",
                type=str,
                help="What keys are like: tera (TeraGen's own, which have no seed), random, "
                "skewed, sorted, reverse, equal.",
                default="tera",
            ),
            _SEED,
        ),
    ),
    Kind(
        name="points",
        help="Points as .npy: normal clouds around uniform centres, as HiBench has for k-means.",
        options=(
            Option(name="rows", type=int, help="Points, at least 1.", required=True),
            Option(name="dimensions", type=int, help="Dimensions.", default=27),
            Option(name="clusters", type=int, help="Clouds.", default=10),
            Option(
                name="spread",
                type=float,
                help="Standard deviation of a cloud; centres are in 0 to 1000.",
                default=100.0,
            ),
            Option(name="float64", type=bool, help="Double, not single precision.", default=False),
            _SEED,
        ),
    ),
    Kind(
        name="reads",
        help="Reads of a genome drawn by chance, as FASTQ, gzipped for a name in .gz.",
        options=(
            Option(name="bases", type=int, help="Bases of the genome.", required=True),
            Option(name="coverage", type=float, help="Bases of all reads over it.", default=30.0),
            Option(name="length", type=int, help="Bases of a read.", default=100),
            Option(
                name="errors", type=float, help="Chance that a base is read wrong.", default=0.005
            ),
            Option(
                name="repeats",
                type=float,
                help="Part of the genome that is copies of repeats of 1,000 bases.",
                default=0.0,
            ),
            Option(
                name="fragment",
                type=int,
                help="Mean bases of a fragment whose ends are read, interleaved; 0 for single.",
                default=0,
            ),
            Option(name="reference", type=str, help="Where to write the genome as FASTA, too."),
            _SEED,
        ),
    ),
    Kind(
        name="images",
        help="A stack of grey images as .npy: bright discs on a noisy ground.",
        options=(
            Option(name="images", type=int, help="Images, at least 1.", required=True),
            Option(name="height", type=int, help="Rows of pixels.", default=512),
            Option(name="width", type=int, help="Pixels of a row.", default=512),
            Option(name="discs", type=int, help="Discs of an image; they overlap.", default=40),
            Option(
                name="noise",
                type=float,
                help="Standard deviation of the noise, of 255 levels.",
                default=8.0,
            ),
            Option(name="sixteen", type=bool, help="16 bits a pixel, not 8.", default=False),
            _SEED,
        ),
    ),
)


def make(kind: Kind, values: Mapping[str, Value], output: Path) -> dict[str, object]:
    """Write a synthetic input to `output`; return what the kernel says about it.

    Arguments: `values` by the names of the kind's options; None leaves an option out.
    Guarantee: the bytes depend on the values only. Errors: `InputError` for a value out of range
    or a place that can't be written.
    """
    given = {name: value for name, value in values.items() if value is not None}
    request = given | {"output": str(output), "threads": cores_usable()}
    response = native_module().data_make(kind.name, json.dumps(request))
    answer: dict[str, object] = json.loads(response)
    return answer
