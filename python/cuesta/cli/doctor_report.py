"""`cuesta doctor --report`: what an issue needs, without names and paths of the user.

The text is made of parts that have no names: versions, types, numbers, and the names of variables
and settings, not their values. What is left of names and paths in them is replaced.
"""

from __future__ import annotations

import contextlib
import os
import platform
import pwd
import re
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from cuesta import __version__
from cuesta.cli.doctor_checks import BROKEN, Check
from cuesta.untrusted import single_line

_NAME, _PATH = "<name>", "<path>"
_PATHS = re.compile(r"(?<![\w<])(?:~[\w.-]*)?/[^\s,;:()'\"]+")
_WORD_LENGTH_MIN = 3
"""Shortest part of a name that is replaced by itself; a complete name is replaced at any length."""
_VARIABLES = (
    "JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "HADOOP_HOME", "PYTHONPATH",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "OMP_NUM_THREADS",
    "SLURM_JOB_ID", "PBS_JOBID", "TMPDIR", "LC_ALL", "LANG",
)  # fmt: skip
"""Variables whose presence explains defects."""


def issue_text(checks: Iterable[Check]) -> str:
    """Return the report of a machine as Markdown."""
    hide = Hider()
    lines = [
        "<!-- written by `cuesta doctor --report`; look through it before you post it -->",
        "",
        "| item | state | what |",
        "|---|---|---|",
    ]
    rows = [("cuesta", "ok", __version__), *_system()]
    rows += [(check.name, check.state, check.found or _reason(check)) for check in checks]
    lines += [f"| {name} | {state} | {_cell(hide, text)} |" for name, state, text in rows]
    lines += [
        "",
        f"Variables that are set: {', '.join(_variables()) or 'none of those that matter'}.",
    ]
    lines += [f"Settings that are set: {hide(', '.join(_settings()) or 'none')}.", ""]
    return "\n".join(lines)


class Hider:
    """Replaces names and paths of the user in a text."""

    def __init__(self) -> None:
        self._places = sorted(filter(None, _places()), key=len, reverse=True)
        self._names = sorted(set(_names()), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text without them."""
        text = single_line(text)
        for place in self._places:
            text = text.replace(place, _PATH)
        text = _PATHS.sub(_PATH, text)
        for name in self._names:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _NAME, text, flags=re.IGNORECASE)
        return text


def _cell(hide: Hider, text: str) -> str:
    """A text for a table of Markdown."""
    return hide(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _reason(check: Check) -> str:
    """Why an item is broken; how to get what is absent is the same for everybody."""
    return check.remedy if check.state == BROKEN else ""


def _system() -> Iterator[tuple[str, str, str]]:
    system = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    yield "system", "ok", system.get("PRETTY_NAME", platform.system())
    yield "kernel", "ok", f"{platform.release()} {platform.machine()}"
    yield "c library", "ok", " ".join(platform.libc_ver()) or "not known"
    build = "free-threaded" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "usual"
    yield "interpreter", "ok", f"{platform.python_implementation()}, {build} build"


def _variables() -> Iterator[str]:
    """Names of variables that are set; a name is the user's own only where it is not listed."""
    from cuesta.config.known import by_variable

    known = {*_VARIABLES, *by_variable(), "CUESTA_STORE", "CUESTA_DATA", "CUESTA_CONFIG"}
    yield from sorted(known & set(os.environ))


def _settings() -> Iterator[str]:
    """Names of settings of files, with the kind of file."""
    from cuesta.config.known import SETTINGS
    from cuesta.config.layers import layers
    from cuesta.errors import InputError

    try:
        for layer in layers():
            yield from (f"{name} ({layer.kind})" for name in layer.values if name in SETTINGS)
    except InputError:
        yield "a file that is wrong"


def _places() -> Iterator[str]:
    """Folders and files whose names may have spaces, so that no pattern finds their ends."""
    named = [os.environ.get(name, "") for name in ("HOME", "JAVA_HOME", "TMPDIR", "SPARK_HOME")]
    yield from (place for place in named if len(place) > 1)
    yield from (place for place in os.environ.get("PATH", "").split(":") if len(place) > 1)
    yield from (str(Path(sys.executable).parent), sys.prefix, tempfile.gettempdir())
    yield str(Path(__file__).parents[2])
    with contextlib.suppress(OSError):
        yield str(Path.cwd())
    with contextlib.suppress(KeyError):
        yield pwd.getpwuid(os.geteuid()).pw_dir


def _names() -> Iterator[str]:
    """Names of the account and of the machine, and parts of them."""
    names = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "HOSTNAME")]
    names += [socket.gethostname(), platform.node()]
    names.append(Path(os.environ.get("HOME", "")).name)
    with contextlib.suppress(KeyError):
        account = pwd.getpwuid(os.geteuid())
        names += [account.pw_name, account.pw_gecos]
    for name in filter(None, names):
        yield name
        yield from (part for part in re.split(r"[\W_]+", name) if len(part) >= _WORD_LENGTH_MIN)
