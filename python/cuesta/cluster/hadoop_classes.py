"""Class path of Hadoop's daemons: from the Hadoop of `$HADOOP_HOME`, or in a checkout from Maven.

PySpark includes Hadoop's client only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cuesta.errors import EngineMissing, InputError

HOW_TO_GET = (
    "--with yarn needs Hadoop's daemons, which pip does not bring: unpack Hadoop 3 where all nodes "
    "see it, and set HADOOP_HOME to its folder"
)
_TOOL = Path(__file__).parents[3] / "tools" / "hadoop_daemons.py"
_PARTS = ("common", "hdfs", "mapreduce", "yarn")


def find() -> tuple[str, ...]:
    """Return entries of a class path. Errors: `EngineMissing`, `InputError` (`$HADOOP_HOME`)."""
    home = os.environ.get("HADOOP_HOME")
    if home:
        return _of_home(Path(home).absolute())
    if not _TOOL.is_file():
        raise EngineMissing(HOW_TO_GET)
    command = [sys.executable, str(_TOOL)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last_line = "".join(done.stderr.strip().splitlines()[-1:])
        raise EngineMissing(f"{HOW_TO_GET} ({last_line})")
    return (f"{done.stdout.strip()}/*",)


def _of_home(home: Path) -> tuple[str, ...]:
    folders = [home / "share" / "hadoop" / part for part in _PARTS]
    lacking = next((folder for folder in folders if not folder.is_dir()), None)
    if lacking:
        raise InputError(
            f"HADOOP_HOME is {home}, which has no {lacking.relative_to(home)}; set it to a whole "
            "Hadoop"
        )
    return tuple(f"{place}/*" for folder in folders for place in (folder, folder / "lib"))
