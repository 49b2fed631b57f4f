"""Tools of one target of the Makefile: an extra, pinned in a file, in an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import setup

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Environment:
    """An environment with the packages of an extra, of which no other environment has any."""

    extra: str
    folder: Path
    lock_command: str

    @property
    def requirements(self) -> Path:
        """The file with all packages, their versions and hashes."""
        return ROOT / "tools" / f"requirements-{self.extra}.txt"

    def lock(self) -> None:
        """Pin the packages of the extra, without those of Cuesta itself."""
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        extras = tomllib.loads(text)["project"]["optional-dependencies"]
        words = ["pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
        shown = ["--no-annotate", "--no-header", "--generate-hashes", "-"]
        done = subprocess.run(
            [str(setup.VENV / "bin" / "uv"), *words, *shown],
            check=True,
            input="\n".join(extras[self.extra]),
            stdout=subprocess.PIPE,
            text=True,
        )
        head = f"# Written by `{self.lock_command}` from pyproject.toml; change that instead.\n"
        self.requirements.write_text(head + done.stdout, encoding="utf-8")

    def install(self) -> None:
        """Make the environment, unless it has just these packages."""
        stamp = self.folder / "stamp"
        pins = self.requirements.read_text(encoding="utf-8")
        if stamp.exists() and stamp.read_text(encoding="utf-8") == pins:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        python = str(self.folder / "bin" / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
        subprocess.run([*pip, "-r", str(self.requirements)], check=True)
        stamp.write_text(pins, encoding="utf-8")
