"""The folder of a cluster: its plan, state, logs and settings."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuesta import outputs
from cuesta.errors import InputError
from cuesta.private import make_private_folder, write_private

SCHEMA = "cuesta.cluster/1"
_FRAME = re.compile(r"at [\w.$/<>@-]+\(|\.\.\. \d+ (more|common)")
STATE = "cluster.json"
CANCELLED = "cancelled"
"""State of a cluster whose job was cancelled before it began."""
OVER = ("ended", "failed", CANCELLED)
"""Final states."""


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
        """Create it, private to the user, with a new secret. Errors: `InputError`: it is in use."""
        outputs.check_local(self.given)
        if self.state_file.exists():
            self._clear()
        if self.root.exists() and any(self.root.iterdir()):
            raise InputError(f"{self.root}: is not empty; name a new folder with -o")
        make_private_folder(self.root, narrows=True)
        for folder in (self.logs, self.conf):
            folder.mkdir(mode=0o700)
        write_private(self.secret_file, secrets.token_hex(32))

    def _clear(self) -> None:
        """Remove the files of a cluster in which nothing ran. Errors: `InputError` for another."""
        state = self.read()
        if state["state"] not in OVER or "ready" in state["times"]:
            root = shlex.quote(str(self.root))
            remedy = (
                "name another folder with -o"
                if state["state"] in OVER
                else f"end it with `cuesta cluster down {root}` or name another folder with -o"
            )
            raise InputError(f"{self.root}: has a cluster already ({state['state']}); {remedy}")
        for folder in (self.logs, self.conf):
            for file in folder.iterdir() if folder.is_dir() else ():
                file.unlink()
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()
        # The state is removed last: it marks the folder as a cluster's.
        for file in (
            self.plan_file, self.script, self.secret_file, self.store_secret_file, self.times_file,
            self.job_file, self.state_file,
        ):  # fmt: skip
            file.unlink(missing_ok=True)

    def secret(self) -> str:
        """Return the secret that leader, agents and Spark prove to each other that they know."""
        return self.secret_file.read_text()

    def job(self) -> str:
        """Return the scheduler's name of the job; empty before submission."""
        try:
            return self.job_file.read_text()
        except FileNotFoundError:
            return ""

    def read(self) -> dict[str, Any]:
        """Return the state. Errors: `InputError` where there is none."""
        try:
            state: dict[str, Any] = json.loads(self.state_file.read_text())
        except FileNotFoundError:
            raise InputError(
                f"{self.root}: no cluster was started here; name the folder that was given to -o"
            ) from None
        if state.get("schema") != SCHEMA:
            raise InputError(
                f"{self.state_file}: is of another version, {state.get('schema')}; use another "
                "folder"
            )
        return state

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the state atomically."""
        write_private(self.state_file, json.dumps(state, indent=1) + "\n")

    def plan(self) -> dict[str, Any]:
        """Return the plan, as `settings.to_json` wrote it."""
        plan: dict[str, Any] = json.loads(self.plan_file.read_text())
        return plan

    def log(self, name: str) -> Path:
        """Return the path of the log of the process `name`."""
        return self.logs / f"{name}.log"


def error_line(log: Path) -> str:
    """Return the first line of a log with `error:`, else its last; empty without one.

    For a stack trace of Java that is the exception, not a frame.
    """
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    messages = [line for line in lines if line and not _FRAME.match(line)]
    return next((line for line in messages if "error:" in line), messages[-1] if messages else "")
