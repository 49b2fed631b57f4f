"""Checks of the archives of a release: what installs them may rely on this."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from distributions import DISTRIBUTIONS, Distribution

from . import notices
from .toolchain import GLIBC_MAX, ROOT, VENV

WHEEL_BYTES_MAX = 15_000_000
LIBRARIES = frozenset(
    {
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "librt.so.1",
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    }
)
"""Libraries that each system with glibc has."""
SPECIFICATION = ("cuesta/spec/workloads/scan/params.toml", "cuesta/spec/cases/points.npy")
JARS = {
    "cuesta": ("cuesta/jars/cuesta-spark-jobs.jar", "cuesta/jars/cuesta-hadoop-rounds.jar"),
    "cuesta-store": ("cuesta_store/jars/cuesta-hadoop-store.jar",),
}
"""By distribution, the jars that its archives have."""

_GLIBC = re.compile(r"\bGLIBC_(\d+)\.(\d+)(?:\.\d+)?\b")
_NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")


class CheckError(Exception):
    """A fault of an archive, in one line or with the output of the tool that found it."""


def check(archives: Iterable[Path]) -> list[str]:
    """Check all archives; return what was measured, a line each. Errors: `CheckError`."""
    files = list(archives)
    if not files:
        raise CheckError("there is no archive to check")
    measured = [line for file in files for line in check_file(file)]
    run_tool("twine", "check", "--strict", *map(str, files))
    # Actions that are not pinned, and credentials that remain, in the workflow that publishes.
    run_tool("zizmor", "--offline", "--persona", "pedantic", str(ROOT / ".github" / "workflows"))
    for distribution in DISTRIBUTIONS:
        run_tool("validate-pyproject", str(distribution.folder / "pyproject.toml"))
    return measured


def check_file(file: Path) -> list[str]:
    """Check one archive."""
    distribution = owner(file)
    if file.suffix != ".whl":
        names = members(file)
        check_contents(file, distribution, names)
        return [f"{file.name}: {len(names)} files"]
    names = members(file)
    if file.stat().st_size > WHEEL_BYTES_MAX:
        excess = f"{file.stat().st_size:,} bytes, at most {WHEEL_BYTES_MAX:,} are allowed"
        raise CheckError(f"{file.name} has {excess}")
    check_contents(file, distribution, names)
    # W002: an empty marker of typing is a copy of another; W009: a wheel has one package here.
    run_tool("check-wheel-contents", "--ignore", "W002,W009", str(file))
    size = f"{file.stat().st_size / 1e6:.1f} MB"
    if not distribution.is_native:
        return [f"{file.name}: {size}"]
    run_tool("abi3audit", "--strict", str(file))
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(file) as archive:
        modules = [name for name in names if name.endswith(".so")]
        if len(modules) != 1:
            raise CheckError(f"{file.name} has {len(modules)} native modules")
        module = Path(archive.extract(modules[0], temporary))
        highest = check_module(file.name, module)
    crates = check_sbom(file, distribution)
    return [f"{file.name}: {size}, glibc {highest[0]}.{highest[1]}, SBOM of {crates} packages"]


def check_contents(file: Path, distribution: Distribution, names: set[str]) -> None:
    """Refuse an archive without the files that a checkout takes from elsewhere."""
    wanted = [*SPECIFICATION] if distribution.name == "cuesta" else []
    wanted += JARS.get(distribution.name, ())
    if distribution.is_native:
        if file.suffix == ".whl":
            folder = "-".join(file.name.split("-")[:2])
            wanted.append(f"{folder}.dist-info/licenses/{notices.NAME}")
        else:
            place = "python/" if distribution.name == "cuesta" else ""
            wanted = [f"{place}{name}" for name in wanted] + ["Cargo.lock", notices.NAME]
    if missing := [name for name in wanted if name not in names]:
        raise CheckError(f"{file.name} lacks {', '.join(missing)}; run python3 tools/setup.py all")
    if foreign := sorted({name for name in names if name.endswith(".jar")} - set(wanted)):
        raise CheckError(f"{file.name} has jars that it should not: {', '.join(foreign)}")


def check_module(name: str, module: Path) -> tuple[int, int]:
    """Return the highest version of glibc that a module needs."""
    versions = {(int(x), int(y)) for x, y in _GLIBC.findall(readelf("--version-info", module))}
    if not versions or max(versions) > GLIBC_MAX:
        raise CheckError(f"{name} needs versions {sorted(versions)} of glibc, above {GLIBC_MAX}")
    needed = set(_NEEDED.findall(readelf("--dynamic", module)))
    if not needed or needed - LIBRARIES:
        raise CheckError(f"{name} needs libraries {sorted(needed)}")
    content = module.read_bytes()
    for path in (ROOT, Path.home()):
        if f"{path}/".encode() in content:
            raise CheckError(f"{name} contains the path {path} of its build")
    return max(versions)


def check_sbom(file: Path, distribution: Distribution) -> int:
    """Return the number of packages in the bill of materials of a wheel, which has all crates."""
    document = sbom(file)
    listed = {f"{part['name']} {part['version']}" for part in document["components"]}
    if missing := notices.names_of_module(distribution) - listed:
        raise CheckError(f"the SBOM of {file.name} lacks {', '.join(sorted(missing)[:5])}")
    return len(listed)


def sbom(file: Path) -> dict[str, list[dict[str, str]]]:
    """The bill of materials in a wheel."""
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if "/sboms/" in name]
        if len(names) != 1:
            raise CheckError(f"{file.name} has {len(names)} bills of materials")
        document: dict[str, list[dict[str, str]]] = json.loads(archive.read(names[0]))
    return document


def owner(file: Path) -> Distribution:
    """The distribution that an archive belongs to."""
    for distribution in DISTRIBUTIONS:
        if file.name.startswith(f"{distribution.stem}-"):
            return distribution
    raise CheckError(f"{file.name} belongs to no distribution of tools/distributions.py")


def members(file: Path) -> set[str]:
    """Names in an archive; in a source archive, below its folder."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            return set(archive.namelist())
    with tarfile.open(file) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def readelf(option: str, module: Path) -> str:
    """Output of `readelf` with wide lines."""
    words = ["readelf", "--wide", option, str(module)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run_tool(name: str, *words: str) -> None:
    """Run a tool of the release. Errors: `CheckError` with its output."""
    command = [str(VENV / "bin" / name), *words]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise CheckError(f"{name} refuses:\n{done.stdout}{done.stderr}")
