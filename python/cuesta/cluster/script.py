"""The script of a job: commands of a shell before it becomes the leader."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cuesta.children import module_command
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.settings import ClusterPlan
from cuesta.cluster.watchdog import MARK, mark

_CARRIED = ("PYTHONPATH", "PATH", "LD_LIBRARY_PATH", "JAVA_HOME")
"""Variables of the submitting process that a job receives, whatever the site's environment."""


def leader_lines(plan: ClusterPlan, folder: ClusterFolder) -> list[str]:
    """Return lines of a script that turn its shell into the leader of a cluster.

    It runs in the working folder of this process, so that paths of the command mean the same. Some
    schedulers start scripts in the home folder.
    """
    carried = [f"export {name}={shlex.quote(text)}" for name, text in _carried().items()]
    words = module_command("cuesta.cluster", "lead", str(folder.root), python=plan.python)
    marking = f"{MARK}={mark(plan.cluster, 'leader')}"
    place = f"cd {shlex.quote(str(Path.cwd()))} || exit 3"
    return [place, *carried, f"{marking} exec {shlex.join(words)}"]


def job_name(folder: ClusterFolder) -> str:
    """Return the job's name in lists of the scheduler, which restrict the characters."""
    return f"cuesta-{re.sub(r'[^A-Za-z0-9_.-]', '_', folder.root.name)}"


def agent_words(plan: ClusterPlan, folder: ClusterFolder, leader: Sequence[str]) -> list[str]:
    """Return the command of an agent. Arguments: `leader` is its address, port and interface."""
    return module_command("cuesta.cluster", "agent", str(folder.root), *leader, python=plan.python)


def carried_words() -> list[str]:
    """Return words to put before a command on another node, so that it finds its software."""
    known = _carried()
    wanted = (name for name in ("PYTHONPATH", "JAVA_HOME") if name in known)
    return ["env", *(f"{name}={known[name]}" for name in wanted)]


def clock(minutes: float) -> str:
    """Return minutes as hours, minutes and seconds, in the format of schedulers."""
    seconds = round(minutes * 60)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _carried() -> dict[str, str]:
    return {name: os.environ[name] for name in _CARRIED if os.environ.get(name)}
