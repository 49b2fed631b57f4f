"""An option of the command line, and the options that all workloads share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from cuesta.engines import ENGINE_NAMES
from cuesta.lab.verify import FULL, LEVELS

WORKLOAD_PANEL = "Workload"
ENGINE_PANEL = "Engine and machine"
OUTPUT_PANEL = "Measuring and output"
CACHE_HELP = (
    "Run cold: before every repeat drop the input's pages from the page cache, or with "
    "--cold=machine (root only) empty the whole cache."
)


class Option(NamedTuple):
    """An option of the command line.

    Attributes
    ----------
    name
        Its key among the values.
    words
        Words to type, e.g. `-o` and `--output`.
    kind
        Type of a value; `bool` for a flag, which takes none.
    default
        Its value where it is not given; an option without one may be `required`.
    many
        Whether it may be repeated; its value is a list then, or None.
    alone
        Value of the word alone, of an option that otherwise takes its value after `=`.
    shown
        The default as help shows it, where it is no value.
    setting
        Its setting in files, such as `run.threads`; empty for an option without one.
    """

    name: str
    words: tuple[str, ...]
    kind: type
    help: str
    panel: str
    default: Any = None
    required: bool = False
    many: bool = False
    alone: str = ""
    metavar: str | None = None
    shown: str | bool = True
    choices: tuple[str, ...] = ()
    setting: str = ""

    @property
    def untyped(self) -> Any:
        """Its value where nobody typed it; None where a setting may replace the default."""
        return None if self.setting else self.default


def _engine_option(name: str, default: str, text: str) -> Option:
    return Option(
        name="engines", words=(f"--{name}",), kind=str, help=text, panel=ENGINE_PANEL,
        default=default, setting=f"{'run' if name == 'engine' else 'compare'}.{name}",
    )  # fmt: skip


ONE_ENGINE = _engine_option(
    "engine", "native",
    f"Engine to run on: {', '.join(ENGINE_NAMES)}; one that does not run this workload says so.",
)  # fmt: skip
SEVERAL_ENGINES = _engine_option(
    "engines", "native,spark,array", "Engines, separated by commas."
)  # fmt: skip
"""The options that choose the engine of `run`, and the engines of `compare`."""


def common_options() -> list[Option]:
    """The options that all workloads share."""
    return [
        _engine(
            "--threads", kind=int, help="Cores to use.", shown="all this process may use",
            setting="run.threads",
        ),
        _engine(
            "--memory", metavar="SIZE", shown="half of the machine's memory", setting="run.memory",
            help="Hard limit, such as 8GiB or 500MB; work that does not fit goes to --scratch.",
        ),
        _engine(
            "--scratch", kind=Path, metavar="DIR", shown="next to the output",
            setting="run.scratch",
            help="Folder for what does not fit in memory.",
        ),
        _engine("--master", metavar="URL", help="Spark master.", shown="local[THREADS]"),
        _engine("--ranks", kind=int, metavar="N", help="MPI ranks.", shown="as --threads"),
        _engine(
            "--kernels", metavar="native|numpy|c",
            help="Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi.",
            shown="native",
        ),
        _engine(
            "--engine-option", many=True, metavar="KEY=VALUE",
            help="Setting of the engine; may be repeated.",
        ),
        _engine("--seed", kind=int, help="Seed of whatever is drawn at random.", default=0),
        _measure(
            "--repeat", kind=int, metavar="N", help="Run so often and give the median.", default=1,
            setting="run.repeat",
        ),
        _measure("--cold", metavar="[=machine]", help=CACHE_HELP, default="", alone="input"),
        _measure(
            "-o", "--output", kind=Path, metavar="DIR", help="Answer folder to make.", required=True
        ),
        _measure(
            "--verify", metavar="|".join(LEVELS), choices=LEVELS, default=FULL,
            setting="run.verify",
            help="How much of the answer to hold against its input by another method.",
        ),
        _measure("--overwrite", kind=bool, help="Replace an answer that is there.", default=False),
        _measure(
            "--json", kind=bool, help="Print the record on stdout, all else on stderr.",
            default=False,
        ),
        _measure("-q", "--quiet", kind=bool, help="Show errors and results alone.", default=False),
        _measure("-v", "--verbose", kind=bool, help="Show details of every step.", default=False),
        _measure("--log-file", metavar="FILE", help="Also append all details to a file."),
        _measure(
            "--timestamps", kind=bool, help="Begin lines on stderr with the time, in UTC.",
            default=False,
        ),
    ]  # fmt: skip


def _engine(*words: str, kind: type = str, help: str, **more: Any) -> Option:  # noqa: A002
    return _shared(words, kind, help=help, panel=ENGINE_PANEL, **more)


def _measure(*words: str, kind: type = str, help: str, **more: Any) -> Option:  # noqa: A002
    return _shared(words, kind, help=help, panel=OUTPUT_PANEL, **more)


def _shared(words: tuple[str, ...], kind: type, **more: Any) -> Option:
    name = words[-1].removeprefix("--").replace("-", "_")
    return Option(name=name, words=words, kind=kind, **more)
