"""Settings of a job of MapReduce: memory by the trial's limit, and paths for its children."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from cuesta.engines.rounds import Job, Means, Round, requested_tasks
from cuesta.errors import InputError
from cuesta.trial import Trial

ROUND, REFUSED = "round", "refused"
"""Files in the folder of a round: the round with its job, and the error of a refused task."""
MIB = 1 << 20
HEAP_BYTES = 256 * MIB
"""Heap of a task of Hadoop, for sorting and for fetched data."""
JVM_BYTES = HEAP_BYTES + 128 * MIB
PYTHON_BYTES = 64 * MIB
"""Memory of a child without a task."""
MASTER_HEAP_BYTES = 320 * MIB
MASTER_BYTES = 448 * MIB
"""Memory of the master of a job, which requests containers of YARN."""
CLIENT_HEAP_BYTES = 160 * MIB
CLIENT_BYTES = 288 * MIB
"""Memory of the JVM here that submits jobs."""
JVM_WORDS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of JVMs that run for seconds, and only transport bytes."""
UBER_BYTES = 1 << 30
"""Size below which a round without parts runs in the master of its job, task by task: other
containers would take longer to start."""
STUCK_MS = 120_000
"""Time without a sign of life after which Hadoop starts a task again; its own default is 10
minutes. A child sends signs every 5 s however long it computes."""
SORT_MIB = 96
"""Memory in which a task sorts the blocks that it sends."""
PASSED_ON = ("PYTHONPATH", "CUESTA_STORE", "CUESTA_SCRATCH", "LD_LIBRARY_PATH")
"""Variables of this process that children on other nodes receive."""
_OPTION_NAMES = ("conf", "examples", "tasks")
_SITE_FILES = ("core-site.xml", "mapred-site.xml", "yarn-site.xml")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The engine's options.

    Attributes
    ----------
    conf
        The folder of a site's settings; None for MapReduce in one JVM of this machine.
    tasks
        Requested number of tasks and parts; None to choose.
    examples
        Jar of Hadoop's examples, to sort with its TeraSort; None for our kernels.
    hadoop
        Hadoop's settings, which override all others.
    """

    conf: Path | None = None
    tasks: int | None = None
    examples: Path | None = None
    hadoop: Mapping[str, str] = field(default_factory=dict)


def options_of(trial: Trial) -> Options:
    """Parse the options of a trial. Errors: `InputError`."""
    options = trial.engine_options
    hadoop = {name: value for name, value in options.items() if "." in name}
    for name in options.keys() - hadoop.keys() - set(_OPTION_NAMES):
        raise InputError(
            f"engine hadoop has no option {name}, choose from {', '.join(_OPTION_NAMES)}, or one "
            "of Hadoop's, whose names have a dot"
        )
    examples = options.get("examples")
    return Options(
        conf=_conf(options.get("conf")),
        tasks=requested_tasks(trial),
        examples=Path(examples).absolute() if examples else None,
        hadoop=hadoop,
    )


def _conf(named: str | None) -> Path | None:
    path = named or os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")
    if not path:
        return None
    conf = Path(path).absolute()
    if not any((conf / name).is_file() for name in _SITE_FILES):
        where = "--engine-option conf" if named else "$HADOOP_CONF_DIR"
        raise InputError(
            f"{where} is {conf}, which has none of {', '.join(_SITE_FILES)}; name the folder of "
            "your site's Hadoop"
        )
    return conf


def overhead_bytes(options: Options, slots: int) -> int:
    """Return memory of all processes without a task; without a site, tasks are in one JVM."""
    if options.conf is None:
        return slots * (HEAP_BYTES + PYTHON_BYTES) + CLIENT_BYTES
    return slots * (JVM_BYTES + PYTHON_BYTES) + MASTER_BYTES + CLIENT_BYTES


def suits_master(options: Options, round_: Round) -> bool:
    """Whether a round runs faster in the master of its job than in other containers."""
    return bool(options.conf) and not round_.parts and round_.size_bytes < UBER_BYTES


def local_tasks(round_: Round, slots: int) -> dict[str, int]:
    """Return the tasks of a round's job in one JVM, which does not count those it starts."""
    slices = -(-len(round_.tasks) // _slice(round_, slots))
    return {"maps": slices, "reduces": round_.parts}


def slice_of(round_: Round, means: Means, is_uber: bool) -> int:
    """Return how many of a round's tasks one task of Hadoop runs, one by one."""
    return _slice(round_, 1 if is_uber else means.slots)


def _slice(round_: Round, at_once: int) -> int:
    return max(1, -(-len(round_.tasks) // at_once))


def results_of(round_: Round, means: Means, is_uber: bool) -> int:
    """Return how many results the job of a round has: one for each slice if they combine."""
    count = len(round_.tasks)
    if round_.parts or not round_.combines:
        return round_.parts or count
    return -(-count // slice_of(round_, means, is_uber))


def common_properties(options: Options, slots: int, folder: Path) -> dict[str, str]:
    """Return settings for where a job runs, and its tasks at once; `folder` is for its files."""
    properties = {"mapreduce.framework.name": "yarn" if options.conf else "local"}
    if options.conf is None:
        properties["hadoop.tmp.dir"] = f"{folder}/hadoop"
    for kind in ("map", "reduce"):
        properties[f"mapreduce.job.running.{kind}.limit"] = str(slots)
        properties[f"mapreduce.local.{kind}.tasks.maximum"] = str(slots)
    return properties


def round_properties(
    options: Options, work: tuple[Job, Round], folder: Path, is_uber: bool
) -> dict[str, str]:
    """Return Hadoop's settings for a round whose files are in `folder`."""
    job, round_ = work
    means = job.means
    slots = means.slots
    child_bytes = PYTHON_BYTES + means.memory_bytes // slots
    container = (JVM_BYTES + child_bytes) // MIB
    master = (MASTER_BYTES + child_bytes if is_uber else MASTER_BYTES) // MIB
    properties = common_properties(options, slots, folder) | {
        "mapreduce.job.name": f"cuesta {job.workload}: {round_.phase}",
        "mapreduce.output.fileoutputformat.outputdir": f"file://{folder}/found",
        # Hadoop's history servers read both formats.
        "mapreduce.jobhistory.jhist.format": "json",
        "mapreduce.task.io.sort.mb": str(SORT_MIB),
        "mapreduce.task.timeout": str(STUCK_MS),
        # The same before the first sign.
        "mapreduce.task.stuck.timeout-ms": str(STUCK_MS),
        # Reduce tasks would only wait in the slots of map tasks.
        "mapreduce.job.reduce.slowstart.completedmaps": "1.0",
        "mapreduce.job.ubertask.enable": str(is_uber).lower(),
        "yarn.app.mapreduce.am.resource.mb": str(master),
        "yarn.app.mapreduce.am.command-opts": f"-Xmx{MASTER_HEAP_BYTES // MIB}m {JVM_WORDS}",
        # Interval of the master's requests to YARN for containers.
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
        # Time for the master to end by itself.
        "yarn.app.mapreduce.am.hard-kill-timeout-ms": "3000",
        # Memory of a part's shuffle: on one machine all parts share a heap.
        "mapreduce.reduce.memory.totalbytes": str(HEAP_BYTES),
        "cuesta.round.tasks": str(len(round_.tasks)),
        "cuesta.round.slice": str(slice_of(round_, means, is_uber)),
        "cuesta.round.parts": str(round_.parts),
        "cuesta.round.text": str(round_.is_text).lower(),
        "cuesta.round.folder": str(folder),
        "cuesta.round.python": sys.executable,
    }
    for kind in ("map", "reduce"):
        properties |= {
            f"mapreduce.{kind}.memory.mb": str(container),
            f"mapreduce.{kind}.java.opts": f"-Xmx{HEAP_BYTES // MIB}m {JVM_WORDS}",
            # Two attempts write to the same places, and one may outlive its job.
            f"mapreduce.{kind}.speculative": "false",
        }
    for where in ("mapreduce.map.env", "mapreduce.reduce.env", "yarn.app.mapreduce.am.env"):
        properties |= {f"{where}.{name}": value for name, value in environment(options).items()}
    return properties | dict(options.hadoop)


def environment(options: Options) -> dict[str, str]:
    """Return variables of this process for children on other nodes: absolute paths, UTF-8.

    Variables that NodeManagers set for their containers, such as the store of a node, are left out.
    """
    of_nodes = _node_variables(options.conf) if options.conf else ()
    names = (name for name in PASSED_ON if name not in of_nodes)
    variables = {name: os.environ[name] for name in names if os.environ.get(name)}
    if "PYTHONPATH" in variables:
        places = variables["PYTHONPATH"].split(os.pathsep)
        variables["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, places))
    return variables | {"LC_ALL": "C.UTF-8"}


def _node_variables(conf: Path) -> tuple[str, ...]:
    """Return variables that the NodeManagers of a site set for containers, by its settings."""
    try:
        properties = ElementTree.parse(conf / "yarn-site.xml").iterfind("property")
    except (OSError, ElementTree.ParseError):
        return ()
    values = {item.findtext("name"): item.findtext("value") or "" for item in properties}
    names = values.get("yarn.nodemanager.env-whitelist", "").split(",")
    return tuple(name.strip() for name in names)


def write(settings: Mapping[str, str], path: Path) -> None:
    """Write settings in Hadoop's format to a file that is private to the user."""
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8") as file:
        file.write("<configuration>\n")
        for name, value in settings.items():
            file.write(
                f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            )
        file.write("</configuration>\n")
