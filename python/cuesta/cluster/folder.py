"""The folder of a cluster: what was asked for, what became of it, its logs and its settings."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuesta import outputs
from cuesta.errors import InputError
from cuesta.private import make_private_folder, write_private
from cuesta.store.peers import make_secret

SCHEMA = "cuesta.cluster/1"
_FRAME = re.compile(r"at [\w.$/<>@-]+\(|\.\.\. \d+ (more|common)")
STATE = "cluster.json"
CANCELLED = "cancelled"
"""State of a cluster whose job was cancelled before it began."""
OVER = ("ended", "failed", CANCELLED)
"""States after which nothing happens any more."""


class ClusterFolder:
    """Paths of a cluster, below a folder that its nodes share."""

    def __init__(self, root: Path) -> None:
        self.given = root
        self.root = root.absolute()
        self.state_file = self.root / STATE
        self.plan_file = self.root / "plan.json"
        self.script = self.root / "job.sh"
        self.secret_file = self.root / "secret"
        self.store_secret_file = self.root / "store-secret"
        self.times_file = self.root / "times.json"
        self.job_file = self.root / "job"
        self.logs = self.root / "logs"
        self.conf = self.root / "conf"
        self.page_header = self.conf / "page-header"

    def make(self) -> None:
        """Make it, for this user alone, with a new secret. Errors: `InputError` if it is taken."""
        outputs.check_local(self.given)
        if self.state_file.exists():
            self._clear()
        if self.root.exists() and any(self.root.iterdir()):
            raise InputError(f"{self.root}: is not empty; name a new folder with -o")
        make_private_folder(self.root, narrows=True)
        for folder in (self.logs, self.conf):
            folder.mkdir(mode=0o700)
        write_private(self.secret_file, secrets.token_hex(32))
        make_secret(self.store_secret_file)

    def _clear(self) -> None:
        """Remove the files of a cluster in which nothing ran. Errors: `InputError` for another."""
        state = self.read()
        if state["state"] not in OVER or "ready" in state["times"]:
            remedy = (
                "name another folder with -o"
                if state["state"] in OVER
                else f"end it with `cuesta cluster down {self.root}` or name another folder with -o"
            )
            raise InputError(f"{self.root}: has a cluster already ({state['state']}); {remedy}")
        for folder in (self.logs, self.conf):
            for file in folder.iterdir() if folder.is_dir() else ():
                file.unlink()
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()
        # The state goes last: until then the folder is known for what it is.
        for file in (
            self.plan_file, self.script, self.secret_file, self.store_secret_file, self.times_file,
            self.job_file, self.state_file,
        ):  # fmt: skip
            file.unlink(missing_ok=True)

    def secret(self) -> str:
        """What leader, agents and Spark prove to each other that they know."""
        return self.secret_file.read_text()

    def job(self) -> str:
        """What the scheduler calls the job; empty before it was handed in."""
        try:
            return self.job_file.read_text()
        except FileNotFoundError:
            return ""

    def read(self) -> dict[str, Any]:
        """The state. Errors: `InputError` where there is none."""
        try:
            found: dict[str, Any] = json.loads(self.state_file.read_text())
        except FileNotFoundError:
            raise InputError(
                f"{self.root}: no cluster was started here; name the folder that was given to -o"
            ) from None
        if found.get("schema") != SCHEMA:
            raise InputError(f"{self.state_file}: is of another version, {found.get('schema')}")
        return found

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the state, whole."""
        write_private(self.state_file, json.dumps(state, indent=1) + "\n")

    def plan(self) -> dict[str, Any]:
        """What was asked for."""
        found: dict[str, Any] = json.loads(self.plan_file.read_text())
        return found

    def log(self, name: str) -> Path:
        """Where a process of that name writes what it says."""
        return self.logs / f"{name}.log"


def telling_line(log: Path) -> str:
    """The first line of a log that speaks of an error, else its last; empty without one.

    Of a trace of Java that is the exception, not the place in the code.
    """
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    said = [line for line in lines if line and not _FRAME.match(line)]
    return next((line for line in said if "error:" in line), said[-1] if said else "")
