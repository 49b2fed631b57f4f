"""What a job of MapReduce is told: its memory by the trial's limit, and where its children are."""

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
"""Files of the folder of a round: itself with its job, and why one of its tasks was refused."""
MIB = 1 << 20
HEAP_BYTES = 256 * MIB
"""Heap of one of Hadoop's tasks: what it sorts, and what it fetches."""
JVM_BYTES = HEAP_BYTES + 128 * MIB
PYTHON_BYTES = 64 * MIB
"""A child without a task."""
MASTER_HEAP_BYTES = 320 * MIB
MASTER_BYTES = 448 * MIB
"""The master of a job, which asks YARN for the rest."""
CLIENT_HEAP_BYTES = 160 * MIB
CLIENT_BYTES = 288 * MIB
"""The JVM here that submits jobs."""
JVM_WORDS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""JVMs that live for seconds, and pass bytes on."""
UBER_BYTES = 1 << 30
"""A round without parts that goes over less is done by the master of its job, task by task: other
containers would take longer to come."""
SORT_MIB = 96
"""Room in which a task sorts the blocks that it sends."""
PASSED_ON = ("PYTHONPATH", "CUESTA_STORE", "CUESTA_SCRATCH", "LD_LIBRARY_PATH")
"""Variables of this process that children on other nodes have too."""
_OWN = ("conf", "examples", "tasks")
_SITE_FILES = ("core-site.xml", "mapred-site.xml", "yarn-site.xml")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The engine's options.

    Attributes
    ----------
    conf
        The folder of a site's settings; None for MapReduce in one JVM of this machine.
    tasks
        How many tasks and parts there shall be, where that was said.
    examples
        The jar of Hadoop's examples, whose TeraSort then sorts; None for our kernels.
    hadoop
        Hadoop's own settings, which come last.
    """

    conf: Path | None = None
    tasks: int | None = None
    examples: Path | None = None
    hadoop: Mapping[str, str] = field(default_factory=dict)


def options_of(trial: Trial) -> Options:
    """The options of a trial. Errors: `InputError`."""
    given = trial.engine_options
    hadoop = {name: value for name, value in given.items() if "." in name}
    for name in given.keys() - hadoop.keys() - set(_OWN):
        raise InputError(
            f"engine hadoop has no option {name}, choose from {', '.join(_OWN)}, or one of "
            "Hadoop's, whose names have a dot"
        )
    examples = given.get("examples")
    return Options(
        conf=_conf(given.get("conf")),
        tasks=requested_tasks(trial),
        examples=Path(examples).absolute() if examples else None,
        hadoop=hadoop,
    )


def _conf(named: str | None) -> Path | None:
    found = named or os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")
    if not found:
        return None
    conf = Path(found).absolute()
    if not any((conf / name).is_file() for name in _SITE_FILES):
        where = "--engine-option conf" if named else "$HADOOP_CONF_DIR"
        raise InputError(
            f"{where} is {conf}, which has none of {', '.join(_SITE_FILES)}; name the folder of "
            "your site's Hadoop"
        )
    return conf


def overhead_bytes(options: Options, slots: int) -> int:
    """Memory of all processes without a task; on this machine alone, all tasks are in one JVM."""
    if options.conf is None:
        return slots * (HEAP_BYTES + PYTHON_BYTES) + CLIENT_BYTES
    return slots * (JVM_BYTES + PYTHON_BYTES) + MASTER_BYTES + CLIENT_BYTES


def suits_its_master(options: Options, round_: Round) -> bool:
    """Whether a round is better done by the master of its job than by other containers."""
    return bool(options.conf) and not round_.parts and round_.size_bytes < UBER_BYTES


def slice_of(round_: Round, means: Means, is_uber: bool) -> int:
    """How many of a round's tasks one of Hadoop's does, one after the other."""
    at_once = 1 if is_uber else means.slots
    return max(1, -(-len(round_.tasks) // at_once))


def results_of(round_: Round, means: Means, is_uber: bool) -> int:
    """How many results a job of that round has: where they combine, one a slice."""
    count = len(round_.tasks)
    if round_.parts or not round_.combines:
        return round_.parts or count
    return -(-count // slice_of(round_, means, is_uber))


def of_every_job(options: Options, slots: int, folder: Path) -> dict[str, str]:
    """Where a job runs, and how many of its tasks at once; `folder` is for its own files here."""
    found = {"mapreduce.framework.name": "yarn" if options.conf else "local"}
    if options.conf is None:
        found["hadoop.tmp.dir"] = f"{folder}/hadoop"
    for kind in ("map", "reduce"):
        found[f"mapreduce.job.running.{kind}.limit"] = str(slots)
        found[f"mapreduce.local.{kind}.tasks.maximum"] = str(slots)
    return found


def of_round(
    options: Options, what: tuple[Job, Round], folder: Path, is_uber: bool
) -> dict[str, str]:
    """Hadoop's settings for a round whose files are in `folder`."""
    job, round_ = what
    means = job.means
    slots = means.slots
    child_bytes = PYTHON_BYTES + means.memory_bytes // slots
    container = (JVM_BYTES + child_bytes) // MIB
    master = (MASTER_BYTES + child_bytes if is_uber else MASTER_BYTES) // MIB
    found = of_every_job(options, slots, folder) | {
        "mapreduce.job.name": f"cuesta {job.workload}: {round_.phase}",
        "mapreduce.output.fileoutputformat.outputdir": f"file://{folder}/found",
        # Hadoop's history servers read both formats.
        "mapreduce.jobhistory.jhist.format": "json",
        "mapreduce.task.io.sort.mb": str(SORT_MIB),
        # Reduce tasks would only wait in the slots of map tasks.
        "mapreduce.job.reduce.slowstart.completedmaps": "1.0",
        "mapreduce.job.ubertask.enable": str(is_uber).lower(),
        "yarn.app.mapreduce.am.resource.mb": str(master),
        "yarn.app.mapreduce.am.command-opts": f"-Xmx{MASTER_HEAP_BYTES // MIB}m {JVM_WORDS}",
        # How often the master asks YARN for containers.
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
        # How long it may take to end by itself.
        "yarn.app.mapreduce.am.hard-kill-timeout-ms": "3000",
        # Of a part's shuffle: on one machine all parts share a heap.
        "mapreduce.reduce.memory.totalbytes": str(HEAP_BYTES),
        "cuesta.round.tasks": str(len(round_.tasks)),
        "cuesta.round.slice": str(slice_of(round_, means, is_uber)),
        "cuesta.round.parts": str(round_.parts),
        "cuesta.round.text": str(round_.is_text).lower(),
        "cuesta.round.folder": str(folder),
        "cuesta.round.python": sys.executable,
    }
    for kind in ("map", "reduce"):
        found |= {
            f"mapreduce.{kind}.memory.mb": str(container),
            f"mapreduce.{kind}.java.opts": f"-Xmx{HEAP_BYTES // MIB}m {JVM_WORDS}",
            # Two attempts write to the same places, and one may outlive its job.
            f"mapreduce.{kind}.speculative": "false",
        }
    for where in ("mapreduce.map.env", "mapreduce.reduce.env", "yarn.app.mapreduce.am.env"):
        found |= {f"{where}.{name}": value for name, value in environment(options).items()}
    return found | dict(options.hadoop)


def environment(options: Options) -> dict[str, str]:
    """What children have of this process on other nodes: paths from the root, names in UTF-8.

    Not what NodeManagers give their containers, as the store of their node.
    """
    own = _given_by_nodes(options.conf) if options.conf else ()
    names = (name for name in PASSED_ON if name not in own)
    given = {name: os.environ[name] for name in names if os.environ.get(name)}
    if "PYTHONPATH" in given:
        places = given["PYTHONPATH"].split(os.pathsep)
        given["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, places))
    return given | {"LC_ALL": "C.UTF-8"}


def _given_by_nodes(conf: Path) -> tuple[str, ...]:
    """Variables that the NodeManagers of a site give their containers, where it says which."""
    try:
        properties = ElementTree.parse(conf / "yarn-site.xml").iterfind("property")
    except (OSError, ElementTree.ParseError):
        return ()
    found = {one.findtext("name"): one.findtext("value") or "" for one in properties}
    names = found.get("yarn.nodemanager.env-whitelist", "").split(",")
    return tuple(name.strip() for name in names)


def write(settings: Mapping[str, str], path: Path) -> None:
    """Write settings as Hadoop reads them, for this user alone."""
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8") as file:
        file.write("<configuration>\n")
        for name, value in settings.items():
            file.write(
                f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            )
        file.write("</configuration>\n")
