"""Seeded synthetic inputs: their kinds and options."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuesta import outputs, removal
from cuesta.errors import CuestaError, InputError, in_words
from cuesta.machine import cores_usable
from cuesta.native import native_module

REFERENCE = "reference"
"""Option of a kind that writes a second file."""
_STREAM = re.compile(r"/dev/std(in|out|err)|/dev/fd/\d+|/proc/(self|thread-self|\d+)/fd/\d+")
"""Names of open files of a process."""
NAME_BYTES = 60
"""Bytes of a file's name in the name of its partial folder."""

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


def make(
    kind: Kind, values: Mapping[str, Value], output: Path, *, overwrite: bool = False
) -> dict[str, object]:
    """Write a synthetic input to `output`, atomically; return the kernel's description of it.

    Arguments: `values` by the names of the kind's options; None leaves an option out. `overwrite`
    replaces an existing file. Guarantee: the bytes depend on the values only. Errors:
    `InputError` for a value out of range or a place that is in use or can't be written.
    """
    options = {name: value for name, value in values.items() if value is not None}
    places = {"output": output}
    if options.get(REFERENCE):
        places[REFERENCE] = Path(str(options[REFERENCE]))
    for name, place in places.items():
        _check(place, "-o" if name == "output" else f"--{name}", overwrite)
    if len(places) == 2 and os.path.realpath(output) == os.path.realpath(places[REFERENCE]):
        raise InputError(f"--{REFERENCE} {output} is the output, too; give another file")
    with contextlib.ExitStack() as stack:
        partial = {name: _partial(place, stack) for name, place in places.items()}
        named = {name: str(path) for name, path in partial.items()}
        shown = {named[name]: str(places[name]) for name in named}
        response = _call(kind, {**options, **named}, shown)
        for name, place in places.items():
            _publish(partial[name], place, overwrite)
    answer: dict[str, object] = json.loads(response)
    return answer


def _call(kind: Kind, request: Mapping[str, Value], shown: Mapping[str, str]) -> str:
    """Call the kernel; its errors name the user's places."""
    words = json.dumps({**request, "threads": cores_usable()})
    try:
        return str(native_module().data_make(kind.name, words))
    except CuestaError as error:
        text = str(error)
        for path, place in shown.items():
            text = text.replace(path, place)
        raise type(error)(text) from None


def _check(place: Path, option: str, overwrite: bool) -> None:
    """Refuse a place that is in use. Errors: `InputError`."""
    outputs.check_local(place, option)
    if not os.path.lexists(place):
        return
    if _STREAM.fullmatch(str(place)) and place.is_file():
        raise InputError(f"{place} leads to a regular file; give the name of that file as {option}")
    if is_device(place):
        return
    if place.is_dir():
        raise InputError(f"{place} is a folder; give the name of a file as {option}")
    if not overwrite:
        replaces = ", or --overwrite" if place.is_file() and not place.is_symlink() else ""
        raise InputError(f"{place} exists already; give another {option}{replaces}")
    if place.is_symlink():
        raise InputError(
            f"{place} is a symbolic link, so --overwrite will not replace the file it leads to; "
            f"give that file as {option}"
        )
    if not place.is_file():
        raise InputError(
            f"{place} is no regular file, so --overwrite will not replace it; give another"
        )


def is_device(place: Path) -> bool:
    """Return whether a place is a device, or a pipe of this process, to which bytes are sent."""
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    is_stream = _STREAM.fullmatch(str(place)) is not None
    return stat.S_ISCHR(mode) or (is_stream and not stat.S_ISREG(mode))


def _partial(place: Path, stack: contextlib.ExitStack) -> Path:
    """Path with the same name in a new folder next to a place; a device is its own partial path."""
    if is_device(place):
        return place
    real = Path(os.path.realpath(place))
    prefix = f".{real.name[:NAME_BYTES]}.partial-"
    try:
        for leftover in real.parent.iterdir():
            if leftover.name.startswith(prefix) and removal.is_idle(leftover):
                removal.remove_marked(leftover)
        return stack.enter_context(removal.held_folder(prefix, real.parent)) / real.name
    except OSError as error:
        raise InputError(f"{place}: {in_words(error)}") from None


def _publish(partial: Path, place: Path, overwrite: bool) -> None:
    if partial == place:
        return
    real = Path(os.path.realpath(place))
    try:
        if overwrite and real.is_file():
            removal.put(partial, real)
            return
        if real.is_dir():
            real.rmdir()
        removal.put_new(partial, real)
    except OSError as error:
        raise InputError(f"{place}: {in_words(error)}") from None
